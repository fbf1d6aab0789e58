package kubeclient

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	eventsv1 "k8s.io/api/events/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedappsv1 "k8s.io/client-go/kubernetes/typed/apps/v1"
	typedcoordinationv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	typeddiscoveryv1 "k8s.io/client-go/kubernetes/typed/discovery/v1"
	typedeventsv1 "k8s.io/client-go/kubernetes/typed/events/v1"
	typedpolicyv1 "k8s.io/client-go/kubernetes/typed/policy/v1"
	typedresourcev1 "k8s.io/client-go/kubernetes/typed/resource/v1"

	"github.com/berthproject/berth/api/v1alpha1"
	"github.com/berthproject/berth/sim"
	"github.com/berthproject/berth/sim/store"
)

// These types have the methods of a resource's interface that this client does not implement; a call panics. The methods
// are one level deeper than those of resource, so Go promotes the latter.
type (
	otherPod       struct{ typedcorev1.PodInterface }
	otherNode      struct{ typedcorev1.NodeInterface }
	otherService   struct{ typedcorev1.ServiceInterface }
	otherEndpoints struct{ typedcorev1.EndpointsInterface }
	otherVolume    struct {
		typedcorev1.PersistentVolumeInterface
	}
	otherClaim struct {
		typedcorev1.PersistentVolumeClaimInterface
	}
	otherReplicationController struct {
		typedcorev1.ReplicationControllerInterface
	}
	otherCoreEvent  struct{ typedcorev1.EventInterface }
	otherReplicaSet struct {
		typedappsv1.ReplicaSetInterface
	}
	otherDeployment struct {
		typedappsv1.DeploymentInterface
	}
	otherStatefulSet struct {
		typedappsv1.StatefulSetInterface
	}
	otherDaemonSet struct{ typedappsv1.DaemonSetInterface }
	otherRevision  struct {
		typedappsv1.ControllerRevisionInterface
	}
	otherBudget struct {
		typedpolicyv1.PodDisruptionBudgetInterface
	}
	otherEvent struct{ typedeventsv1.EventInterface }
	otherLease struct {
		typedcoordinationv1.LeaseInterface
	}
	otherEndpointSlice struct {
		typeddiscoveryv1.EndpointSliceInterface
	}
	otherResourceClaim struct {
		typedresourcev1.ResourceClaimInterface
	}
	otherHold struct{ v1alpha1.HoldInterface }
)

// pods is the client of pods.
type pods struct {
	otherPod
	resource[*corev1.Pod, *corev1.PodList]
}

// Binding is the notice that an actor sends a Binding.
type Binding struct {
	Pod, UID, Node string
	Request        *sim.Request
}

// Bind implements typedcorev1.PodExpansion.
func (p pods) Bind(ctx context.Context, b *corev1.Binding, _ metav1.CreateOptions) error {
	onSend := func(r *sim.Request) {
		p.c.w.Notify(Binding{Pod: store.Key(p.namespace, b.Name), UID: string(b.UID), Node: b.Target.Name, Request: r})
	}
	_, err := p.send(ctx, request{verb: "create", subresource: "binding", name: b.Name, onSend: onSend}, func(key string) (store.Object, error) {
		err := p.c.w.API().Bind(key, string(b.UID), b.Target.Name)
		return p.stored(key), err
	})
	return err
}

// EvictV1 implements typedcorev1.PodExpansion.
func (p pods) EvictV1(ctx context.Context, e *policyv1.Eviction) error {
	return evictions{c: p.c, namespace: p.namespace}.Evict(ctx, e)
}

// Pods implements typedcorev1.CoreV1Interface.
func (g coreV1) Pods(namespace string) typedcorev1.PodInterface {
	return pods{resource: newResource[*corev1.Pod, *corev1.PodList](g.c, store.Pods, namespace)}
}

// Nodes implements typedcorev1.CoreV1Interface.
func (g coreV1) Nodes() typedcorev1.NodeInterface {
	return struct {
		otherNode
		resource[*corev1.Node, *corev1.NodeList]
	}{resource: newResource[*corev1.Node, *corev1.NodeList](g.c, store.Nodes, "")}
}

// Services implements typedcorev1.CoreV1Interface.
func (g coreV1) Services(namespace string) typedcorev1.ServiceInterface {
	return struct {
		otherService
		resource[*corev1.Service, *corev1.ServiceList]
	}{resource: newResource[*corev1.Service, *corev1.ServiceList](g.c, store.Services, namespace)}
}

// Endpoints implements typedcorev1.CoreV1Interface.
func (g coreV1) Endpoints(namespace string) typedcorev1.EndpointsInterface {
	return struct {
		otherEndpoints
		resource[*corev1.Endpoints, *corev1.EndpointsList]
	}{resource: newResource[*corev1.Endpoints, *corev1.EndpointsList](g.c, store.Endpoints, namespace)}
}

// PersistentVolumes implements typedcorev1.CoreV1Interface.
func (g coreV1) PersistentVolumes() typedcorev1.PersistentVolumeInterface {
	return struct {
		otherVolume
		resource[*corev1.PersistentVolume, *corev1.PersistentVolumeList]
	}{resource: newResource[*corev1.PersistentVolume, *corev1.PersistentVolumeList](g.c, store.PersistentVolumes, "")}
}

// PersistentVolumeClaims implements typedcorev1.CoreV1Interface.
func (g coreV1) PersistentVolumeClaims(namespace string) typedcorev1.PersistentVolumeClaimInterface {
	return struct {
		otherClaim
		resource[*corev1.PersistentVolumeClaim, *corev1.PersistentVolumeClaimList]
	}{resource: newResource[*corev1.PersistentVolumeClaim, *corev1.PersistentVolumeClaimList](g.c, store.PersistentVolumeClaims, namespace)}
}

// ReplicationControllers implements typedcorev1.CoreV1Interface.
func (g coreV1) ReplicationControllers(namespace string) typedcorev1.ReplicationControllerInterface {
	return struct {
		otherReplicationController
		resource[*corev1.ReplicationController, *corev1.ReplicationControllerList]
	}{resource: newResource[*corev1.ReplicationController, *corev1.ReplicationControllerList](g.c, store.ReplicationControllers, namespace)}
}

// Events implements typedcorev1.CoreV1Interface.
func (g coreV1) Events(namespace string) typedcorev1.EventInterface {
	return struct {
		otherCoreEvent
		resource[*corev1.Event, *corev1.EventList]
	}{resource: newResource[*corev1.Event, *corev1.EventList](g.c, store.CoreEvents, namespace)}
}

// ReplicaSets implements typedappsv1.AppsV1Interface.
func (g appsV1) ReplicaSets(namespace string) typedappsv1.ReplicaSetInterface {
	return struct {
		otherReplicaSet
		resource[*appsv1.ReplicaSet, *appsv1.ReplicaSetList]
	}{resource: newResource[*appsv1.ReplicaSet, *appsv1.ReplicaSetList](g.c, store.ReplicaSets, namespace)}
}

// Deployments implements typedappsv1.AppsV1Interface.
func (g appsV1) Deployments(namespace string) typedappsv1.DeploymentInterface {
	return struct {
		otherDeployment
		resource[*appsv1.Deployment, *appsv1.DeploymentList]
	}{resource: newResource[*appsv1.Deployment, *appsv1.DeploymentList](g.c, store.Deployments, namespace)}
}

// StatefulSets implements typedappsv1.AppsV1Interface.
func (g appsV1) StatefulSets(namespace string) typedappsv1.StatefulSetInterface {
	return struct {
		otherStatefulSet
		resource[*appsv1.StatefulSet, *appsv1.StatefulSetList]
	}{resource: newResource[*appsv1.StatefulSet, *appsv1.StatefulSetList](g.c, store.StatefulSets, namespace)}
}

// DaemonSets implements typedappsv1.AppsV1Interface.
func (g appsV1) DaemonSets(namespace string) typedappsv1.DaemonSetInterface {
	return struct {
		otherDaemonSet
		resource[*appsv1.DaemonSet, *appsv1.DaemonSetList]
	}{resource: newResource[*appsv1.DaemonSet, *appsv1.DaemonSetList](g.c, store.DaemonSets, namespace)}
}

// ControllerRevisions implements typedappsv1.AppsV1Interface.
func (g appsV1) ControllerRevisions(namespace string) typedappsv1.ControllerRevisionInterface {
	return struct {
		otherRevision
		resource[*appsv1.ControllerRevision, *appsv1.ControllerRevisionList]
	}{resource: newResource[*appsv1.ControllerRevision, *appsv1.ControllerRevisionList](g.c, store.ControllerRevisions, namespace)}
}

// PodDisruptionBudgets implements typedpolicyv1.PolicyV1Interface.
func (g policyV1) PodDisruptionBudgets(namespace string) typedpolicyv1.PodDisruptionBudgetInterface {
	return struct {
		otherBudget
		resource[*policyv1.PodDisruptionBudget, *policyv1.PodDisruptionBudgetList]
	}{resource: newResource[*policyv1.PodDisruptionBudget, *policyv1.PodDisruptionBudgetList](g.c, store.PodDisruptionBudgets, namespace)}
}

// Evictions implements typedpolicyv1.PolicyV1Interface.
func (g policyV1) Evictions(namespace string) typedpolicyv1.EvictionInterface {
	return evictions{g.c, namespace}
}

// evictions is the client of the subresource eviction.
type evictions struct {
	c         *client
	namespace string
}

// Evict implements typedpolicyv1.EvictionExpansion.
func (e evictions) Evict(_ context.Context, o *policyv1.Eviction) (err error) {
	e.c.group.Wait(func(resume func()) {
		e.c.actor.Evict(e.namespace, o, func(e error) {
			err = e
			resume()
		})
	})
	return err
}

// Events implements typedeventsv1.EventsV1Interface.
func (g eventsV1) Events(namespace string) typedeventsv1.EventInterface {
	return struct {
		otherEvent
		resource[*eventsv1.Event, *eventsv1.EventList]
	}{resource: newResource[*eventsv1.Event, *eventsv1.EventList](g.c, store.Events, namespace)}
}

// Leases implements typedcoordinationv1.CoordinationV1Interface.
func (g coordinationV1) Leases(namespace string) typedcoordinationv1.LeaseInterface {
	return struct {
		otherLease
		resource[*coordinationv1.Lease, *coordinationv1.LeaseList]
	}{resource: newResource[*coordinationv1.Lease, *coordinationv1.LeaseList](g.c, store.Leases, namespace)}
}

// EndpointSlices implements typeddiscoveryv1.DiscoveryV1Interface.
func (g discoveryV1) EndpointSlices(namespace string) typeddiscoveryv1.EndpointSliceInterface {
	return struct {
		otherEndpointSlice
		resource[*discoveryv1.EndpointSlice, *discoveryv1.EndpointSliceList]
	}{resource: newResource[*discoveryv1.EndpointSlice, *discoveryv1.EndpointSliceList](g.c, store.EndpointSlices, namespace)}
}

// ResourceClaims implements typedresourcev1.ResourceV1Interface.
func (g resourceV1) ResourceClaims(namespace string) typedresourcev1.ResourceClaimInterface {
	return struct {
		otherResourceClaim
		resource[*resourcev1.ResourceClaim, *resourcev1.ResourceClaimList]
	}{resource: newResource[*resourcev1.ResourceClaim, *resourcev1.ResourceClaimList](g.c, store.ResourceClaims, namespace)}
}

// holds implements v1alpha1.Client.
type holds struct{ c *client }

// Holds implements v1alpha1.Client.
func (h holds) Holds(namespace string) v1alpha1.HoldInterface {
	return struct {
		otherHold
		resource[*v1alpha1.Hold, *v1alpha1.HoldList]
	}{resource: newResource[*v1alpha1.Hold, *v1alpha1.HoldList](h.c, store.Holds, namespace)}
}
