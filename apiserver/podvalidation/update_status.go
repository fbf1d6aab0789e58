package podvalidation

import (
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/berthproject/berth/apiserver/podvalidation/podfields"
)

// ValidatePodStatusUpdate validates an update of the status subresource.
func ValidatePodStatusUpdate(newPod, oldPod *corev1.Pod) field.ErrorList {
	u := &updateValidator{podValidator: &podValidator{spec: &newPod.Spec, meta: &newPod.ObjectMeta}, new: newPod, old: oldPod}
	u.add(apivalidation.ValidateObjectMetaUpdate(&newPod.ObjectMeta, &oldPod.ObjectMeta, field.NewPath("metadata"))...)
	u.validateAnnotationChanges()
	path := field.NewPath("status")
	status := &newPod.Status
	if status.ObservedGeneration < 0 {
		u.invalid(path.Child("observedGeneration"), status.ObservedGeneration, "must be a non-negative integer")
	}
	u.validateConditions(path.Child("conditions"))
	if newPod.Spec.NodeName != oldPod.Spec.NodeName {
		u.forbidden(path.Child("nodeName"), "may not be changed directly")
	}
	if nominated := status.NominatedNodeName; nominated != "" && nominated != oldPod.Status.NominatedNodeName {
		u.invalidEach(path.Child("nominatedNodeName"), nominated, apivalidation.NameIsDNSSubdomain(nominated, false))
	}
	u.add(apivalidation.ValidateImmutableField(status.QOSClass, oldPod.Status.QOSClass, path.Child("qosClass"))...)
	u.forbidRestarts(status.ContainerStatuses, oldPod.Status.ContainerStatuses, u.regularMayRestart, path.Child("containerStatuses"))
	u.forbidRestarts(status.InitContainerStatuses, oldPod.Status.InitContainerStatuses, u.initMayRestart, path.Child("initContainerStatuses"))
	u.forbidRestarts(status.EphemeralContainerStatuses, oldPod.Status.EphemeralContainerStatuses,
		func(*corev1.ContainerStatus) bool { return false }, path.Child("ephemeralContainerStatuses"))
	u.validateClaimStatuses(path.Child("resourceClaimStatuses"))
	u.validatePodIPs(path.Child("podIPs"))
	u.validateHostIPs(path.Child("hostIPs"))
	return u.errs
}

// validateConditions requires qualified names for the types of conditions other than the standard ones, and
// observed generations that are not negative.
func (u *updateValidator) validateConditions(path *field.Path) {
	standardConditions := []corev1.PodConditionType{corev1.PodScheduled, corev1.PodReady, corev1.PodInitialized}
	for i, condition := range u.new.Status.Conditions {
		if condition.ObservedGeneration < 0 {
			u.invalid(path.Index(i).Child("observedGeneration"), condition.ObservedGeneration, "must be a non-negative integer")
		}
		if !slices.Contains(standardConditions, condition.Type) {
			u.validateQualifiedName(string(condition.Type), path.Index(i).Child("Type"))
		}
	}
}

// forbidRestarts rejects restarts of terminated containers that may not restart.
func (u *updateValidator) forbidRestarts(newStatuses, oldStatuses []corev1.ContainerStatus, mayRestart func(*corev1.ContainerStatus) bool, path *field.Path) {
	for i := range oldStatuses {
		if oldStatuses[i].State.Terminated == nil || mayRestart(&oldStatuses[i]) {
			continue
		}
		for j := range newStatuses {
			if newStatuses[j].Name == oldStatuses[i].Name && newStatuses[j].State.Terminated == nil {
				u.forbidden(path.Index(i).Child("state"), "may not be transitioned to non-terminated state")
			}
		}
	}
}

// regularMayRestart reports whether a regular container may restart. Its own restart policy decides, or else
// the pod's; a restart rule may also restart all containers.
func (u *updateValidator) regularMayRestart(status *corev1.ContainerStatus) bool {
	for i := range u.old.Spec.Containers {
		if c := &u.old.Spec.Containers[i]; c.Name == status.Name && c.RestartPolicy != nil {
			return containerPolicyRestarts(c, status.State.Terminated.ExitCode) || u.allMayRestart()
		}
	}
	return podPolicyRestarts(u.old.Spec.RestartPolicy, status.State.Terminated.ExitCode) || u.allMayRestart()
}

// initMayRestart is regularMayRestart for init containers. They also restart, even after a success, in a pod with
// restartPolicy Always.
func (u *updateValidator) initMayRestart(status *corev1.ContainerStatus) bool {
	if u.old.Spec.RestartPolicy == corev1.RestartPolicyAlways || u.allMayRestart() {
		return true
	}
	for i := range u.old.Spec.InitContainers {
		if c := &u.old.Spec.InitContainers[i]; c.Name == status.Name && c.RestartPolicy != nil {
			return containerPolicyRestarts(c, status.State.Terminated.ExitCode)
		}
	}
	return podPolicyRestarts(u.old.Spec.RestartPolicy, status.State.Terminated.ExitCode)
}

func podPolicyRestarts(policy corev1.RestartPolicy, exitCode int32) bool {
	return policy == corev1.RestartPolicyAlways || policy == corev1.RestartPolicyOnFailure && exitCode != 0
}

// containerPolicyRestarts applies the first matching restart rule, then the container's restart policy.
func containerPolicyRestarts(c *corev1.Container, exitCode int32) bool {
	for _, rule := range c.RestartPolicyRules {
		if rule.ExitCodes == nil {
			continue
		}
		contains := slices.Contains(rule.ExitCodes.Values, exitCode)
		if contains == (rule.ExitCodes.Operator == corev1.ContainerRestartRuleOnExitCodesOpIn) {
			return true
		}
	}
	return podPolicyRestarts(corev1.RestartPolicy(*c.RestartPolicy), exitCode)
}

// allMayRestart reports whether a restart rule restarts all containers.
func (u *updateValidator) allMayRestart() bool {
	mayRestart := false
	podfields.EachContainer(&u.old.Spec, nil, func(c *corev1.Container, _ *field.Path) {
		for _, rule := range c.RestartPolicyRules {
			mayRestart = mayRestart || rule.Action == corev1.ContainerRestartRuleActionRestartAllContainers
		}
	})
	return mayRestart
}

func (u *updateValidator) validateClaimStatuses(path *field.Path) {
	claimNames := podfields.NameSet{}
	for _, claim := range u.new.Spec.ResourceClaims {
		claimNames.Add(claim.Name)
	}
	seen := podfields.NameSet{}
	for i, status := range u.new.Status.ResourceClaimStatuses {
		idxPath := path.Index(i)
		if !claimNames[status.Name] {
			u.invalid(idxPath.Child("name"), status.Name, "must match the name of an entry in `spec.resourceClaims`")
		}
		if !seen.Add(status.Name) {
			u.duplicate(idxPath.Child("name"), status.Name)
		}
		if name := status.ResourceClaimName; name != nil {
			u.invalidEach(idxPath.Child("name"), *name, apivalidation.NameIsDNSSubdomain(*name, false))
		}
	}
}

func (u *updateValidator) validatePodIPs(path *field.Path) {
	addresses := make([]string, len(u.new.Status.PodIPs))
	for i, ip := range u.new.Status.PodIPs {
		addresses[i] = ip.IP
	}
	u.validateIPs(addresses, u.new.Status.PodIPs, path)
}

func (u *updateValidator) validateHostIPs(path *field.Path) {
	addresses := make([]string, len(u.new.Status.HostIPs))
	for i, ip := range u.new.Status.HostIPs {
		addresses[i] = ip.IP
	}
	if len(addresses) > 0 && u.new.Status.HostIP != addresses[0] {
		u.invalid(path.Index(0).Child("ip"), addresses[0], "must be equal to `hostIP`")
	}
	u.validateIPs(addresses, u.new.Status.HostIPs, path)
}

// validateIPs validates addresses, and requires at most one for each IP family and no duplicates.
func (u *updateValidator) validateIPs(addresses []string, value any, path *field.Path) {
	families := map[bool]int{}
	for i, address := range addresses {
		u.validateIP(address, path.Index(i))
		if parsed, err := netip.ParseAddr(address); err == nil {
			families[parsed.Is4()]++
		}
	}
	if families[true] > 1 || families[false] > 1 {
		u.invalid(path, value, "may specify no more than one IP for each IP family")
	}
	seen := podfields.NameSet{}
	for i, address := range addresses {
		if !seen.Add(address) {
			u.duplicate(path.Index(i), address)
		}
	}
}
