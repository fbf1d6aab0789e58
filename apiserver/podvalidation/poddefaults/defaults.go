package poddefaults

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	resourcehelper "k8s.io/component-helpers/resource"

	"github.com/berthproject/berth/apiserver/podvalidation/defaulting"
	"github.com/berthproject/berth/apiserver/podvalidation/podfields"
)

// legacyInitAnnotations are removed: they described init containers in old releases.
var legacyInitAnnotations = []string{
	"pod.beta.kubernetes.io/init-containers",
	"pod.alpha.kubernetes.io/init-containers",
	"pod.beta.kubernetes.io/init-container-statuses",
	"pod.alpha.kubernetes.io/init-container-statuses",
}

// DefaultPod sets the defaults of a pod. In addition to DefaultPodSpec it defaults requests and pod-level
// resources, host ports for hostNetwork, enableServiceLinks, and the IPs and resources in the status.
func DefaultPod(pod *corev1.Pod) {
	dropAnnotations(pod.Annotations, legacyInitAnnotations)
	DefaultPodSpec(&pod.Spec)
	for i := range pod.Spec.InitContainers {
		defaultRequests(&pod.Spec.InitContainers[i].Resources)
	}
	for i := range pod.Spec.Containers {
		defaultRequests(&pod.Spec.Containers[i].Resources)
	}
	defaultPodLevelResources(pod)
	defaulting.SetPointer(&pod.Spec.EnableServiceLinks, corev1.DefaultEnableServiceLinks)
	if pod.Spec.HostNetwork {
		defaultHostPorts(pod.Spec.Containers)
		defaultHostPorts(pod.Spec.InitContainers)
	}
	normalizePodIPs(&pod.Status)
	defaultStatusResources(&pod.Status)
}

// DefaultPodTemplate sets the defaults of a pod template. Requests, host ports and
// enableServiceLinks are defaulted when pods are created from it.
func DefaultPodTemplate(template *corev1.PodTemplateSpec) {
	dropAnnotations(template.Annotations, legacyInitAnnotations)
	DefaultPodSpec(&template.Spec)
}

// DefaultPodSpec sets the defaults that pods and templates share.
func DefaultPodSpec(spec *corev1.PodSpec) {
	defaulting.Set(&spec.DNSPolicy, corev1.DNSClusterFirst)
	defaulting.Set(&spec.RestartPolicy, corev1.RestartPolicyAlways)
	defaulting.Set(&spec.SchedulerName, corev1.DefaultSchedulerName)
	defaulting.SetPointer(&spec.SecurityContext, corev1.PodSecurityContext{})
	defaulting.SetPointer(&spec.TerminationGracePeriodSeconds, int64(corev1.DefaultTerminationGracePeriodSeconds))
	if *spec.TerminationGracePeriodSeconds < 0 {
		// Negative periods were valid in old releases and meant 1 s.
		spec.TerminationGracePeriodSeconds = new(int64)
		*spec.TerminationGracePeriodSeconds = 1
	}
	AliasServiceAccount(spec)
	for i := range spec.Volumes {
		defaultVolume(&spec.Volumes[i])
	}
	for i := range spec.InitContainers {
		defaultContainer(&spec.InitContainers[i])
	}
	for i := range spec.Containers {
		defaultContainer(&spec.Containers[i])
	}
	for i := range spec.EphemeralContainers {
		defaultContainer((*corev1.Container)(&spec.EphemeralContainers[i].EphemeralContainerCommon))
	}
	DefaultResourceList(spec.Overhead)
	if spec.Resources != nil {
		DefaultResourceList(spec.Resources.Limits)
		DefaultResourceList(spec.Resources.Requests)
	}
}

// DefaultResourceList rounds quantities up to a thousandth, the smallest supported unit.
func DefaultResourceList(list corev1.ResourceList) {
	for name, quantity := range list {
		if quantity.RoundUp(resource.Milli) {
			continue
		}
		list[name] = quantity
	}
}

// AliasServiceAccount keeps serviceAccountName and the deprecated serviceAccount in sync.
func AliasServiceAccount(spec *corev1.PodSpec) {
	defaulting.Set(&spec.ServiceAccountName, spec.DeprecatedServiceAccount)
	spec.DeprecatedServiceAccount = spec.ServiceAccountName
}

// defaultRequests sets missing requests to the limits.
func defaultRequests(resources *corev1.ResourceRequirements) {
	for name, limit := range resources.Limits {
		if _, ok := resources.Requests[name]; ok {
			continue
		}
		if resources.Requests == nil {
			resources.Requests = corev1.ResourceList{}
		}
		resources.Requests[name] = limit.DeepCopy()
	}
}

// defaultPodLevelResources completes partial pod-level resources. Missing limits of huge pages are the
// sums of the containers' limits. If the pod then has limits, missing requests are the sums of the
// containers' requests, or else the pod's limits. Missing requests of huge pages, which cannot be
// overcommitted, are the pod's limits.
func defaultPodLevelResources(pod *corev1.Pod) {
	podResources := pod.Spec.Resources
	if podResources == nil || len(podResources.Limits) == 0 && len(podResources.Requests) == 0 {
		return
	}
	for name, limit := range resourcehelper.AggregateContainerLimits(pod, resourcehelper.PodResourcesOptions{}) {
		if podfields.IsHugePage(name) {
			setMissing(&podResources.Limits, name, limit)
		}
	}
	if len(podResources.Limits) == 0 {
		return
	}
	for name, request := range resourcehelper.AggregateContainerRequests(pod, resourcehelper.PodResourcesOptions{}) {
		if resourcehelper.IsSupportedPodLevelResource(name) && !podfields.IsHugePage(name) {
			setMissing(&podResources.Requests, name, request)
		}
	}
	for name, limit := range podResources.Limits {
		if resourcehelper.IsSupportedPodLevelResource(name) {
			setMissing(&podResources.Requests, name, limit)
		}
	}
}

func setMissing(list *corev1.ResourceList, name corev1.ResourceName, quantity resource.Quantity) {
	if _, ok := (*list)[name]; ok {
		return
	}
	if *list == nil {
		*list = corev1.ResourceList{}
	}
	(*list)[name] = quantity.DeepCopy()
}

// defaultHostPorts sets host ports to container ports for hostNetwork.
func defaultHostPorts(containers []corev1.Container) {
	for i := range containers {
		for j := range containers[i].Ports {
			port := &containers[i].Ports[j]
			defaulting.Set(&port.HostPort, port.ContainerPort)
		}
	}
}

// normalizePodIPs makes podIP the first of podIPs. If both are set and differ, podIP wins.
func normalizePodIPs(status *corev1.PodStatus) {
	if status.PodIP != "" && (len(status.PodIPs) == 0 || status.PodIPs[0].IP != status.PodIP) {
		status.PodIPs = []corev1.PodIP{{IP: status.PodIP}}
	}
	if len(status.PodIPs) > 0 {
		status.PodIP = status.PodIPs[0].IP
	}
}

func defaultStatusResources(status *corev1.PodStatus) {
	for _, list := range [][]corev1.ContainerStatus{
		status.InitContainerStatuses, status.ContainerStatuses, status.EphemeralContainerStatuses,
	} {
		for i := range list {
			DefaultResourceList(list[i].AllocatedResources)
			if list[i].Resources != nil {
				DefaultResourceList(list[i].Resources.Limits)
				DefaultResourceList(list[i].Resources.Requests)
			}
		}
	}
}

func dropAnnotations(annotations map[string]string, keys []string) {
	for _, key := range keys {
		delete(annotations, key)
	}
}
