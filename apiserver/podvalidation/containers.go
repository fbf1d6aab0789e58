package podvalidation

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/berthproject/berth/apiserver/podvalidation/podfields"
)

func (c *podValidator) validateRegularContainers(path *field.Path) {
	containers := c.spec.Containers
	if len(containers) == 0 {
		c.required(path, "")
		return
	}
	names := podfields.NameSet{}
	for i := range containers {
		container, idxPath := &containers[i], path.Index(i)
		c.validateContainer(container, idxPath)
		if !names.Add(container.Name) {
			c.duplicate(idxPath.Child("name"), container.Name)
		}
		c.validateLifecycle(container.Lifecycle, idxPath.Child("lifecycle"))
		c.validateProbes(container, idxPath)
		c.validateRestartPolicy(container, idxPath)
	}
	c.validateHostPorts(containers, path)
}

func (c *podValidator) validateInitContainers(path *field.Path) {
	names := podfields.NameSet{}
	for _, container := range c.spec.Containers {
		names.Add(container.Name)
	}
	for i := range c.spec.InitContainers {
		container, idxPath := &c.spec.InitContainers[i], path.Index(i)
		c.validateContainer(container, idxPath)
		c.validateRestartPolicy(container, idxPath)
		if !names.Add(container.Name) {
			c.duplicate(idxPath.Child("name"), container.Name)
		}
		// Init containers run sequentially, so host ports conflict only within one container.
		c.validateHostPorts(c.spec.InitContainers[i:i+1], path)
		if podfields.IsSidecar(container) {
			c.validateLifecycle(container.Lifecycle, idxPath.Child("lifecycle"))
			c.validateProbes(container, idxPath)
		} else {
			c.forbidSidecarFields(container, idxPath)
		}
	}
}

// forbidSidecarFields rejects fields that require a container that keeps running.
func (c *podValidator) forbidSidecarFields(container *corev1.Container, path *field.Path) {
	const reason = "may not be set for init containers without restartPolicy=Always"
	for _, f := range []struct {
		name string
		set  bool
	}{
		{"lifecycle", container.Lifecycle != nil},
		{"livenessProbe", container.LivenessProbe != nil},
		{"readinessProbe", container.ReadinessProbe != nil},
		{"startupProbe", container.StartupProbe != nil},
	} {
		if f.set {
			c.forbidden(path.Child(f.name), reason)
		}
	}
	if len(container.ResizePolicy) > 0 {
		c.invalid(path.Child("resizePolicy"), container.ResizePolicy, "must not be set for init containers")
	}
}

func (c *podValidator) validateEphemeralContainers(path *field.Path) {
	targets := podfields.NameSet{}
	podfields.EachContainer(&corev1.PodSpec{InitContainers: c.spec.InitContainers, Containers: c.spec.Containers}, nil,
		func(container *corev1.Container, _ *field.Path) { targets.Add(container.Name) })
	names := podfields.NameSet{}
	for name := range targets {
		names.Add(name)
	}
	for i := range c.spec.EphemeralContainers {
		ephemeral, idxPath := &c.spec.EphemeralContainers[i], path.Index(i)
		container := (*corev1.Container)(&ephemeral.EphemeralContainerCommon)
		c.validateContainer(container, idxPath)
		c.forbidImageWhitespace([]corev1.Container{*container}, path)
		if !names.Add(container.Name) {
			c.duplicate(idxPath.Child("name"), container.Name)
		}
		if target := ephemeral.TargetContainerName; target != "" && !targets[target] {
			c.notFound(idxPath.Child("targetContainerName"), target)
		}
		c.forbidNonEphemeralFields(container, idxPath)
	}
}

// forbidNonEphemeralFields rejects fields that ephemeral containers do not support.
func (c *podValidator) forbidNonEphemeralFields(container *corev1.Container, path *field.Path) {
	const reason = "cannot be set for an Ephemeral Container"
	resources := container.Resources
	for _, f := range []struct {
		name string
		set  bool
	}{
		{"ports", container.Ports != nil},
		{"resources", resources.Limits != nil || resources.Requests != nil || resources.Claims != nil},
		{"resizePolicy", container.ResizePolicy != nil},
		{"restartPolicy", container.RestartPolicy != nil},
		{"restartPolicyRules", container.RestartPolicyRules != nil},
		{"livenessProbe", container.LivenessProbe != nil},
		{"readinessProbe", container.ReadinessProbe != nil},
		{"startupProbe", container.StartupProbe != nil},
		{"lifecycle", container.Lifecycle != nil},
	} {
		if f.set {
			c.forbidden(path.Child(f.name), reason)
		}
	}
	for i, mount := range container.VolumeMounts {
		idxPath := path.Child("volumeMounts").Index(i)
		if mount.SubPath != "" {
			c.forbidden(idxPath.Child("subPath"), reason)
		}
		if mount.SubPathExpr != "" {
			c.forbidden(idxPath.Child("subPathExpr"), reason)
		}
	}
}

// validateContainer applies the rules common to all types of containers.
func (c *podValidator) validateContainer(container *corev1.Container, path *field.Path) {
	if c.requireNonEmpty(container.Name, path.Child("name")) {
		c.validateDNSLabel(container.Name, path.Child("name"))
	}
	c.requireNonEmpty(container.Image, path.Child("image"))
	requireOneOf(&c.errorCollector, container.TerminationMessagePolicy, path.Child("terminationMessagePolicy"),
		corev1.TerminationMessageReadFile, corev1.TerminationMessageFallbackToLogsOnError)
	c.validatePorts(container.Ports, path.Child("ports"))
	c.validateEnv(container.Env, path.Child("env"))
	c.validateEnvFrom(container.EnvFrom, path.Child("envFrom"))
	c.validateVolumeMounts(container, path.Child("volumeMounts"))
	c.validateVolumeDevices(container, path.Child("volumeDevices"))
	c.validatePullPolicy(container.ImagePullPolicy, path.Child("imagePullPolicy"))
	c.validateContainerResources(&container.Resources, path.Child("resources"))
	c.validateResizePolicy(container.ResizePolicy, path.Child("resizePolicy"))
	c.validateContainerSecurityContext(container.SecurityContext, path.Child("securityContext"))
}

func (c *errorCollector) validatePullPolicy(policy corev1.PullPolicy, path *field.Path) {
	requireOneOf(c, policy, path, corev1.PullAlways, corev1.PullIfNotPresent, corev1.PullNever)
}

// forbidImageWhitespace rejects images with surrounding whitespace. It is not used for templates, which may be
// stored with such images.
func (c *errorCollector) forbidImageWhitespace(containers []corev1.Container, path *field.Path) {
	for i, container := range containers {
		if strings.TrimSpace(container.Image) != container.Image {
			c.invalid(path.Index(i).Child("image"), container.Image, "must not have leading or trailing whitespace")
		}
	}
}

func (c *errorCollector) validatePorts(ports []corev1.ContainerPort, path *field.Path) {
	names := podfields.NameSet{}
	for i, port := range ports {
		idxPath := path.Index(i)
		if port.Name != "" {
			if reasons := validation.IsValidPortName(port.Name); len(reasons) > 0 {
				c.invalidEach(idxPath.Child("name"), port.Name, reasons)
			} else if !names.Add(port.Name) {
				c.duplicate(idxPath.Child("name"), port.Name)
			}
		}
		if port.ContainerPort == 0 {
			c.required(idxPath.Child("containerPort"), "")
		} else {
			c.invalidEach(idxPath.Child("containerPort"), port.ContainerPort, validation.IsValidPortNum(int(port.ContainerPort)))
		}
		if port.HostPort != 0 {
			c.invalidEach(idxPath.Child("hostPort"), port.HostPort, validation.IsValidPortNum(int(port.HostPort)))
		}
		requireOneOf(c, port.Protocol, idxPath.Child("protocol"), corev1.ProtocolSCTP, corev1.ProtocolTCP, corev1.ProtocolUDP)
	}
}

// validateHostPorts reports host ports that are used twice.
func (c *errorCollector) validateHostPorts(containers []corev1.Container, path *field.Path) {
	used := podfields.NameSet{}
	for i, container := range containers {
		for j, port := range container.Ports {
			if port.HostPort == 0 {
				continue
			}
			key := fmt.Sprintf("%s/%s/%d", port.Protocol, port.HostIP, port.HostPort)
			if !used.Add(key) {
				c.duplicate(path.Index(i).Child("ports").Index(j).Child("hostPort"), key)
			}
		}
	}
}

// validateHostNetworkPorts requires host ports to equal container ports if hostNetwork is set. In a
// template the host port may be unset, because it is defaulted when the pod is created.
func (c *podValidator) validateHostNetworkPorts(path *field.Path) {
	if !c.spec.HostNetwork {
		return
	}
	for i, container := range c.spec.Containers {
		for j, port := range container.Ports {
			mayBeUnset := port.HostPort == 0 && !c.isPod()
			if port.HostPort != port.ContainerPort && !mayBeUnset {
				c.invalid(path.Index(i).Child("ports").Index(j).Child("hostPort"), port.HostPort,
					"must match `containerPort` when `hostNetwork` is true")
			}
		}
	}
}

// Limits of restart rules, from the API documentation.
const (
	maxRestartRules     = 20
	maxRestartExitCodes = 255
)

// validateRestartPolicy validates the container-level restart policy and its rules.
func (c *errorCollector) validateRestartPolicy(container *corev1.Container, path *field.Path) {
	policy, rules := container.RestartPolicy, container.RestartPolicyRules
	if policy == nil {
		if len(rules) > 0 {
			c.required(path.Child("restartPolicy"), "must specify restartPolicy when restart rules are used")
		}
		return
	}
	validateOneOf(c, *policy, path.Child("restartPolicy"),
		corev1.ContainerRestartPolicyAlways, corev1.ContainerRestartPolicyNever, corev1.ContainerRestartPolicyOnFailure)
	fldPath := path.Child("restartPolicyRules")
	if len(rules) > maxRestartRules {
		c.add(field.TooMany(fldPath, len(rules), maxRestartRules))
	}
	for i, rule := range rules {
		c.validateRestartRule(rule, fldPath.Index(i))
	}
}

func (c *errorCollector) validateRestartRule(rule corev1.ContainerRestartRule, path *field.Path) {
	requireOneOf(c, rule.Action, path.Child("action"),
		corev1.ContainerRestartRuleActionRestart, corev1.ContainerRestartRuleActionRestartAllContainers)
	codes, fldPath := rule.ExitCodes, path.Child("exitCodes")
	if codes == nil {
		c.required(fldPath, "must be specified")
		return
	}
	requireOneOf(c, codes.Operator, fldPath.Child("operator"),
		corev1.ContainerRestartRuleOnExitCodesOpIn, corev1.ContainerRestartRuleOnExitCodesOpNotIn)
	if len(codes.Values) > maxRestartExitCodes {
		c.add(field.TooMany(fldPath.Child("values"), len(codes.Values), maxRestartExitCodes))
	}
	for i, value := range codes.Values {
		if slices.Contains(codes.Values[:i], value) {
			c.duplicate(fldPath.Child("values").Index(i), value)
		}
	}
}
