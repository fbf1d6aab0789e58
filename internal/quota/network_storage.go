package quota

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	storagehelpers "k8s.io/component-helpers/storage/volume"
)

// serviceUsage counts a Service, its node ports and its load balancer.
func serviceUsage(obj runtime.Object) corev1.ResourceList {
	s, ok := obj.(*corev1.Service)
	if !ok {
		return nil
	}
	ports, balancers := 0, 0
	switch s.Spec.Type {
	case corev1.ServiceTypeNodePort:
		ports = len(s.Spec.Ports)
	case corev1.ServiceTypeLoadBalancer:
		balancers = 1
		for _, p := range s.Spec.Ports {
			if p.NodePort != 0 || s.Spec.AllocateLoadBalancerNodePorts == nil || *s.Spec.AllocateLoadBalancerNodePorts {
				ports++
			}
		}
	}
	return corev1.ResourceList{
		corev1.ResourceServices:              *resource.NewQuantity(1, resource.DecimalSI),
		corev1.ResourceServicesNodePorts:     *resource.NewQuantity(int64(ports), resource.DecimalSI),
		corev1.ResourceServicesLoadBalancers: *resource.NewQuantity(int64(balancers), resource.DecimalSI),
	}
}

const storageClassSuffix = ".storageclass.storage.k8s.io/"

func isClaimResource(name corev1.ResourceName) bool {
	return name == corev1.ResourcePersistentVolumeClaims || name == corev1.ResourceRequestsStorage || strings.Contains(string(name), storageClassSuffix)
}

// claimUsage counts a claim in total and for its storage class. A claim that is being resized uses the larger of the
// requested and the allocated size.
func claimUsage(obj runtime.Object) corev1.ResourceList {
	c, ok := obj.(*corev1.PersistentVolumeClaim)
	if !ok {
		return nil
	}
	one := *resource.NewQuantity(1, resource.DecimalSI)
	used := corev1.ResourceList{corev1.ResourcePersistentVolumeClaims: one}
	class := storagehelpers.GetPersistentVolumeClaimClass(c)
	if class != "" {
		used[corev1.ResourceName(class+storageClassSuffix+"persistentvolumeclaims")] = one
	}
	size, found := c.Spec.Resources.Requests[corev1.ResourceStorage]
	if allocated, isAllocated := c.Status.AllocatedResources[corev1.ResourceStorage]; isAllocated && (!found || allocated.Cmp(size) > 0) {
		size, found = allocated, true
	}
	if found {
		used[corev1.ResourceRequestsStorage] = size
		if class != "" {
			used[corev1.ResourceName(class+storageClassSuffix+"requests.storage")] = size
		}
	}
	return used
}
