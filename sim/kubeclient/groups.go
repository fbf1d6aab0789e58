package kubeclient

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes"
	typedappsv1 "k8s.io/client-go/kubernetes/typed/apps/v1"
	typedcoordinationv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	typeddiscoveryv1 "k8s.io/client-go/kubernetes/typed/discovery/v1"
	typedeventsv1 "k8s.io/client-go/kubernetes/typed/events/v1"
	typedpolicyv1 "k8s.io/client-go/kubernetes/typed/policy/v1"
	typedresourcev1 "k8s.io/client-go/kubernetes/typed/resource/v1"

	"github.com/berthproject/berth/sim/store"
)

// clientset implements kubernetes.Interface.
type clientset struct {
	kubernetes.Interface
	c *client
}

// The groups. Methods that are not implemented panic.
type (
	coreV1 struct {
		typedcorev1.CoreV1Interface
		c *client
	}
	appsV1 struct {
		typedappsv1.AppsV1Interface
		c *client
	}
	policyV1 struct {
		typedpolicyv1.PolicyV1Interface
		c *client
	}
	eventsV1 struct {
		typedeventsv1.EventsV1Interface
		c *client
	}
	coordinationV1 struct {
		typedcoordinationv1.CoordinationV1Interface
		c *client
	}
	discoveryV1 struct {
		typeddiscoveryv1.DiscoveryV1Interface
		c *client
	}
	resourceV1 struct {
		typedresourcev1.ResourceV1Interface
		c *client
	}
)

// Discovery implements kubernetes.Interface.
func (s clientset) Discovery() discovery.DiscoveryInterfaces { return resources{} }

// resources implements discovery.DiscoveryInterfaces. Discovery has no latency and no faults.
type resources struct{ discovery.DiscoveryInterfaces }

// ServerResourcesForGroupVersion implements discovery.DiscoveryInterface. Controllers request only the group version
// of Holds.
func (resources) ServerResourcesForGroupVersion(groupVersion string) (*metav1.APIResourceList, error) {
	for _, list := range store.Resources(store.Holds) {
		if list.GroupVersion == groupVersion {
			return list, nil
		}
	}
	return nil, apierrors.NewNotFound(schema.GroupResource{}, groupVersion)
}

// CoreV1 implements kubernetes.Interface.
func (s clientset) CoreV1() typedcorev1.CoreV1Interface { return coreV1{c: s.c} }

// AppsV1 implements kubernetes.Interface.
func (s clientset) AppsV1() typedappsv1.AppsV1Interface { return appsV1{c: s.c} }

// PolicyV1 implements kubernetes.Interface.
func (s clientset) PolicyV1() typedpolicyv1.PolicyV1Interface { return policyV1{c: s.c} }

// EventsV1 implements kubernetes.Interface.
func (s clientset) EventsV1() typedeventsv1.EventsV1Interface { return eventsV1{c: s.c} }

// CoordinationV1 implements kubernetes.Interface.
func (s clientset) CoordinationV1() typedcoordinationv1.CoordinationV1Interface {
	return coordinationV1{c: s.c}
}

// DiscoveryV1 implements kubernetes.Interface.
func (s clientset) DiscoveryV1() typeddiscoveryv1.DiscoveryV1Interface { return discoveryV1{c: s.c} }

// ResourceV1 implements kubernetes.Interface.
func (s clientset) ResourceV1() typedresourcev1.ResourceV1Interface { return resourceV1{c: s.c} }
