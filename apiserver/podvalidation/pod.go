package podvalidation

import (
	"math"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	unversioned "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/berthproject/berth/apiserver/podvalidation/podfields"
)

// podValidator validates a pod spec. Its fields are the context that rules need beyond the
// validated field.
type podValidator struct {
	errorCollector
	spec *corev1.PodSpec
	// meta is the metadata of the pod, or nil for a template.
	meta *metav1.ObjectMeta
	// volumes are the valid volumes by name, to which mounts may refer.
	volumes map[string]*corev1.VolumeSource
	// claims are the names of the resource claims of the pod.
	claims sets.Set[string]
}

// isPod reports whether a pod and not a template is validated. A few rules are less strict for
// templates.
func (c *podValidator) isPod() bool { return c.meta != nil }

// ValidatePod validates a new pod.
func ValidatePod(pod *corev1.Pod) field.ErrorList {
	c := validatePod(pod)
	path := field.NewPath("spec")
	if len(pod.Spec.EphemeralContainers) > 0 {
		c.forbidden(path.Child("ephemeralContainers"), "cannot be set on create")
	}
	if pod.Spec.NodeName != "" && len(pod.Spec.SchedulingGates) > 0 {
		c.forbidden(path.Child("nodeName"), "cannot be set until all schedulingGates have been cleared")
	}
	c.validateTermLimits(&pod.Spec, nil, path)
	c.validateSeccompAnnotationsMatchFields(pod.Annotations, path)
	c.validateAppArmorAnnotationsMatchFields(pod.Annotations, path)
	return c.errs
}

// validatePod applies the rules for pods that are common to create and update.
func validatePod(pod *corev1.Pod) *podValidator {
	c := &podValidator{spec: &pod.Spec, meta: &pod.ObjectMeta}
	path := field.NewPath("spec")
	c.add(ValidateObjectMeta(&pod.ObjectMeta, true, apivalidation.NameIsDNSSubdomain, field.NewPath("metadata"))...)
	c.validatePodAnnotations(pod.Annotations, field.NewPath("metadata", "annotations"))
	c.validatePodSpec(path)
	c.requireServiceAccountForTokens(path)
	c.forbidImageWhitespace(pod.Spec.Containers, path.Child("containers"))
	c.forbidImageWhitespace(pod.Spec.InitContainers, path.Child("initContainers"))
	return c
}

// ValidatePodTemplateSpec validates the pod template at path.
func ValidatePodTemplateSpec(template *corev1.PodTemplateSpec, path *field.Path) field.ErrorList {
	c := &podValidator{spec: &template.Spec}
	c.add(unversioned.ValidateLabels(template.Labels, path.Child("labels"))...)
	c.add(apivalidation.ValidateAnnotations(template.Annotations, path.Child("annotations"))...)
	c.validatePodAnnotations(template.Annotations, path.Child("annotations"))
	c.validatePodSpec(path.Child("spec"))
	c.validateSeccompAnnotationsMatchFields(template.Annotations, path.Child("spec"))
	if len(template.Spec.EphemeralContainers) > 0 {
		c.forbidden(path.Child("spec", "ephemeralContainers"), "ephemeral containers not allowed in pod template")
	}
	return c.errs
}

// validatePodSpec applies the rules in the order of kube-apiserver's errors.
func (c *podValidator) validatePodSpec(path *field.Path) {
	spec := c.spec
	c.validatePodVolumes(path.Child("volumes"))
	c.validatePodResourceClaims(path.Child("resourceClaims"))
	c.validateRegularContainers(path.Child("containers"))
	c.validateInitContainers(path.Child("initContainers"))
	c.validateEphemeralContainers(path.Child("ephemeralContainers"))
	c.validatePodLevelResources(path.Child("resources"))
	c.validateHostNetworkPorts(path.Child("containers"))
	requireOneOf(&c.errorCollector, spec.RestartPolicy, path.Child("restartPolicy"),
		corev1.RestartPolicyAlways, corev1.RestartPolicyOnFailure, corev1.RestartPolicyNever)
	requireOneOf(&c.errorCollector, spec.DNSPolicy, path.Child("dnsPolicy"),
		corev1.DNSClusterFirstWithHostNet, corev1.DNSClusterFirst, corev1.DNSDefault, corev1.DNSNone)
	c.add(unversioned.ValidateLabels(spec.NodeSelector, path.Child("nodeSelector"))...)
	c.validatePodSecurityContext(path.Child("securityContext"))
	c.validateAffinity(spec.Affinity, path.Child("affinity"))
	c.validateDNSConfig(path.Child("dnsConfig"))
	c.validateReadinessGates(path.Child("readinessGates"))
	c.validateSchedulingGates(path.Child("schedulingGates"))
	c.validateTopologySpread(spec.TopologySpreadConstraints, path.Child("topologySpreadConstraints"))
	c.validateWindowsHostProcess(path)
	c.validateHostUsers(path)
	c.validatePodNames(path)
	c.validateTolerations(spec.Tolerations, path.Child("tolerations"))
	c.validateHostAliases(path.Child("hostAliases"))
	c.validatePodClasses(path)
	if spec.Overhead != nil {
		c.validateResourceRequirements(&corev1.ResourceRequirements{Limits: spec.Overhead}, validateContainerResourceName, path.Child("overhead"))
	}
	c.validateOperatingSystem(path)
}

// validatePodNames validates the names in the spec, and activeDeadlineSeconds.
func (c *podValidator) validatePodNames(path *field.Path) {
	spec := c.spec
	if spec.ServiceAccountName != "" {
		c.invalidEach(path.Child("serviceAccountName"), spec.ServiceAccountName, apivalidation.ValidateServiceAccountName(spec.ServiceAccountName, false))
	}
	if spec.NodeName != "" {
		c.invalidEach(path.Child("nodeName"), spec.NodeName, apivalidation.NameIsDNSSubdomain(spec.NodeName, false))
	}
	if seconds := spec.ActiveDeadlineSeconds; seconds != nil && (*seconds < 1 || *seconds > math.MaxInt32) {
		c.invalid(path.Child("activeDeadlineSeconds"), *seconds, validation.InclusiveRangeError(1, math.MaxInt32))
	}
	if spec.Hostname != "" {
		c.validateDNSLabel(spec.Hostname, path.Child("hostname"))
	}
	if spec.Subdomain != "" {
		c.validateDNSLabel(spec.Subdomain, path.Child("subdomain"))
	}
	c.validateHostnameOverride(path)
}

// maxHostnameLength is the maximum length in bytes of a host name on Linux.
const maxHostnameLength = 64

func (c *podValidator) validateHostnameOverride(path *field.Path) {
	override := podfields.Deref(c.spec.HostnameOverride)
	if override == "" {
		return
	}
	fldPath := path.Child("hostnameOverride")
	c.invalidEach(fldPath, override, validation.IsDNS1123Subdomain(override))
	if len(override) > maxHostnameLength {
		c.add(field.TooLong(fldPath, override, maxHostnameLength))
	}
	if podfields.Deref(c.spec.SetHostnameAsFQDN) {
		c.forbidden(path.Child("setHostnameAsFQDN"), "cannot be set to true when `hostnameOverride` is set")
	}
	if c.spec.HostNetwork {
		c.forbidden(path.Child("hostNetwork"), "cannot be set to true when `hostnameOverride` is set")
	}
}

// validatePodClasses validates the priority class, the runtime class and the preemption policy.
func (c *podValidator) validatePodClasses(path *field.Path) {
	spec := c.spec
	if spec.PriorityClassName != "" {
		c.invalidEach(path.Child("priorityClassName"), spec.PriorityClassName, apivalidation.NameIsDNSSubdomain(spec.PriorityClassName, false))
	}
	if spec.RuntimeClassName != nil {
		c.invalidEach(path.Child("runtimeClassName"), *spec.RuntimeClassName, apivalidation.NameIsDNSSubdomain(*spec.RuntimeClassName, false))
	}
	if spec.PreemptionPolicy != nil {
		requireOneOf(&c.errorCollector, *spec.PreemptionPolicy, path.Child("preemptionPolicy"), corev1.PreemptLowerPriority, corev1.PreemptNever)
	}
}

// requireServiceAccountForTokens rejects token projections of a pod without a service account. It is not used
// for templates, because admission sets the account when a pod is created.
func (c *podValidator) requireServiceAccountForTokens(path *field.Path) {
	if c.spec.ServiceAccountName != "" {
		return
	}
	for i, volume := range c.spec.Volumes {
		if volume.Projected == nil {
			continue
		}
		sources := path.Child("volumes").Index(i).Child("projected", "sources")
		for j, source := range volume.Projected.Sources {
			if source.ServiceAccountToken != nil {
				c.forbidden(sources.Index(j).Child("serviceAccountToken"), "must not be specified when serviceAccountName is not set")
			}
		}
	}
}
