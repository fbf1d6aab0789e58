package podvalidation

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// handler is the action of a probe or a lifecycle hook. Probes do not support sleep. Hooks do not
// support gRPC.
type handler struct {
	exec  *corev1.ExecAction
	http  *corev1.HTTPGetAction
	tcp   *corev1.TCPSocketAction
	grpc  *corev1.GRPCAction
	sleep *corev1.SleepAction
}

func (c *podValidator) validateProbes(container *corev1.Container, path *field.Path) {
	c.validateProbe(container.LivenessProbe, path.Child("livenessProbe"))
	c.requireOneSuccess(container.LivenessProbe, path.Child("livenessProbe"))
	c.validateProbe(container.ReadinessProbe, path.Child("readinessProbe"))
	if probe := container.ReadinessProbe; probe != nil && probe.TerminationGracePeriodSeconds != nil {
		c.invalid(path.Child("readinessProbe", "terminationGracePeriodSeconds"), *probe.TerminationGracePeriodSeconds,
			"must not be set for readinessProbes")
	}
	c.validateProbe(container.StartupProbe, path.Child("startupProbe"))
	c.requireOneSuccess(container.StartupProbe, path.Child("startupProbe"))
}

// requireOneSuccess requires successThreshold 1, for liveness and startup probes.
func (c *errorCollector) requireOneSuccess(probe *corev1.Probe, path *field.Path) {
	if probe != nil && probe.SuccessThreshold != 1 {
		c.invalid(path.Child("successThreshold"), probe.SuccessThreshold, "must be 1")
	}
}

func (c *podValidator) validateProbe(probe *corev1.Probe, path *field.Path) {
	if probe == nil {
		return
	}
	c.validateHandler(handler{exec: probe.Exec, http: probe.HTTPGet, tcp: probe.TCPSocket, grpc: probe.GRPC}, path)
	c.requireNonNegative(int64(probe.InitialDelaySeconds), path.Child("initialDelaySeconds"))
	c.requireNonNegative(int64(probe.TimeoutSeconds), path.Child("timeoutSeconds"))
	c.requireNonNegative(int64(probe.PeriodSeconds), path.Child("periodSeconds"))
	c.requireNonNegative(int64(probe.SuccessThreshold), path.Child("successThreshold"))
	c.requireNonNegative(int64(probe.FailureThreshold), path.Child("failureThreshold"))
	if grace := probe.TerminationGracePeriodSeconds; grace != nil && *grace <= 0 {
		c.invalid(path.Child("terminationGracePeriodSeconds"), *grace, "must be greater than 0")
	}
}

func (c *podValidator) validateLifecycle(lifecycle *corev1.Lifecycle, path *field.Path) {
	if lifecycle == nil {
		return
	}
	if hook := lifecycle.PostStart; hook != nil {
		c.validateHandler(handler{exec: hook.Exec, http: hook.HTTPGet, tcp: hook.TCPSocket, sleep: hook.Sleep}, path.Child("postStart"))
	}
	if hook := lifecycle.PreStop; hook != nil {
		c.validateHandler(handler{exec: hook.Exec, http: hook.HTTPGet, tcp: hook.TCPSocket, sleep: hook.Sleep}, path.Child("preStop"))
	}
}

// validateHandler requires exactly one action. Only the first one is validated.
func (c *podValidator) validateHandler(h handler, path *field.Path) {
	actions := 0
	isFirst := func(set bool, name string) bool {
		if !set {
			return false
		}
		actions++
		if actions > 1 {
			c.forbidden(path.Child(name), "may not specify more than 1 handler type")
		}
		return actions == 1
	}
	if isFirst(h.exec != nil, "exec") && len(h.exec.Command) == 0 {
		c.required(path.Child("exec", "command"), "")
	}
	if isFirst(h.http != nil, "httpGet") {
		c.validateHTTPGet(h.http, path.Child("httpGet"))
	}
	if isFirst(h.tcp != nil, "tcpSocket") {
		c.validatePortNumberOrName(h.tcp.Port, path.Child("tcpSocket", "port"))
	}
	if isFirst(h.grpc != nil, "grpc") {
		c.validatePortNumberOrName(intstr.FromInt32(h.grpc.Port), path.Child("grpc", "port"))
	}
	if isFirst(h.sleep != nil, "sleep") {
		c.validateSleep(h.sleep, path.Child("sleep"))
	}
	if actions == 0 {
		c.required(path, "must specify a handler type")
	}
}

func (c *errorCollector) validateHTTPGet(action *corev1.HTTPGetAction, path *field.Path) {
	c.requireNonEmpty(action.Path, path.Child("path"))
	c.validatePortNumberOrName(action.Port, path.Child("port"))
	validateOneOf(c, action.Scheme, path.Child("scheme"), corev1.URISchemeHTTP, corev1.URISchemeHTTPS)
	for _, header := range action.HTTPHeaders {
		c.invalidEach(path.Child("httpHeaders"), header.Name, validation.IsHTTPHeaderName(header.Name))
	}
}

func (c *errorCollector) validatePortNumberOrName(port intstr.IntOrString, path *field.Path) {
	if port.Type == intstr.Int {
		c.invalidEach(path, port.IntValue(), validation.IsValidPortNum(port.IntValue()))
		return
	}
	c.invalidEach(path, port.StrVal, validation.IsValidPortName(port.StrVal))
}

// validateSleep requires a duration of at most the grace period.
func (c *podValidator) validateSleep(action *corev1.SleepAction, path *field.Path) {
	grace := c.spec.TerminationGracePeriodSeconds
	if grace != nil && (action.Seconds < 0 || action.Seconds > *grace) {
		c.invalid(path, action.Seconds, fmt.Sprintf("must be non-negative and less than terminationGracePeriodSeconds (%d)", *grace))
	}
}
