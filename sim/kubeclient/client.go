package kubeclient

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	typedappsv1 "k8s.io/client-go/kubernetes/typed/apps/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/berthproject/berth/sim"
	"github.com/berthproject/berth/sim/coroutine"
	"github.com/berthproject/berth/sim/store"
)

// client sends the requests of one actor. Its methods must be called in a coroutine of the group.
type client struct {
	kubernetes.Interface
	w     *sim.World
	actor *sim.Client
	group *coroutine.Group
}

// New returns the client of an actor whose code runs in coroutines of group.
func New(w *sim.World, actor *sim.Client, group *coroutine.Group) kubernetes.Interface {
	return &client{w: w, actor: actor, group: group}
}

// request sends a request and waits for the response. Faults are injected by the request kind and key.
func (c *client) request(kind, key string, execute func() error) (err error) {
	c.group.Wait(func(resume func()) {
		c.actor.Request(kind, key, execute, func(e error) {
			err = e
			resume()
		})
	})
	return err
}

// CoreV1 implements kubernetes.Interface.
func (c *client) CoreV1() typedcorev1.CoreV1Interface { return coreV1{c: c} }

// AppsV1 implements kubernetes.Interface.
func (c *client) AppsV1() typedappsv1.AppsV1Interface { return appsV1{c: c} }

type coreV1 struct {
	typedcorev1.CoreV1Interface
	c *client
}

type appsV1 struct {
	typedappsv1.AppsV1Interface
	c *client
}

// The unimplemented methods of a resource: one level deeper than those of resource, so that the latter are promoted.
type (
	otherPodMethods   struct{ typedcorev1.PodInterface }
	otherClaimMethods struct {
		typedcorev1.PersistentVolumeClaimInterface
	}
	otherReplicaSetMethods struct {
		typedappsv1.ReplicaSetInterface
	}
	otherDeploymentMethods struct {
		typedappsv1.DeploymentInterface
	}
	otherStatefulSetMethods struct {
		typedappsv1.StatefulSetInterface
	}
	otherDaemonSetMethods struct{ typedappsv1.DaemonSetInterface }
	otherRevisionMethods  struct {
		typedappsv1.ControllerRevisionInterface
	}
)

// Pods implements typedcorev1.CoreV1Interface.
func (g coreV1) Pods(namespace string) typedcorev1.PodInterface {
	return struct {
		otherPodMethods
		resource[*corev1.Pod]
	}{resource: resource[*corev1.Pod]{g.c, store.Pods, namespace}}
}

// PersistentVolumeClaims implements typedcorev1.CoreV1Interface.
func (g coreV1) PersistentVolumeClaims(namespace string) typedcorev1.PersistentVolumeClaimInterface {
	return struct {
		otherClaimMethods
		resource[*corev1.PersistentVolumeClaim]
	}{resource: resource[*corev1.PersistentVolumeClaim]{g.c, store.PersistentVolumeClaims, namespace}}
}

// ReplicaSets implements typedappsv1.AppsV1Interface.
func (g appsV1) ReplicaSets(namespace string) typedappsv1.ReplicaSetInterface {
	return struct {
		otherReplicaSetMethods
		resource[*appsv1.ReplicaSet]
	}{resource: resource[*appsv1.ReplicaSet]{g.c, store.ReplicaSets, namespace}}
}

// Deployments implements typedappsv1.AppsV1Interface.
func (g appsV1) Deployments(namespace string) typedappsv1.DeploymentInterface {
	return struct {
		otherDeploymentMethods
		resource[*appsv1.Deployment]
	}{resource: resource[*appsv1.Deployment]{g.c, store.Deployments, namespace}}
}

// StatefulSets implements typedappsv1.AppsV1Interface.
func (g appsV1) StatefulSets(namespace string) typedappsv1.StatefulSetInterface {
	return struct {
		otherStatefulSetMethods
		resource[*appsv1.StatefulSet]
	}{resource: resource[*appsv1.StatefulSet]{g.c, store.StatefulSets, namespace}}
}

// DaemonSets implements typedappsv1.AppsV1Interface.
func (g appsV1) DaemonSets(namespace string) typedappsv1.DaemonSetInterface {
	return struct {
		otherDaemonSetMethods
		resource[*appsv1.DaemonSet]
	}{resource: resource[*appsv1.DaemonSet]{g.c, store.DaemonSets, namespace}}
}

// ControllerRevisions implements typedappsv1.AppsV1Interface.
func (g appsV1) ControllerRevisions(namespace string) typedappsv1.ControllerRevisionInterface {
	return struct {
		otherRevisionMethods
		resource[*appsv1.ControllerRevision]
	}{resource: resource[*appsv1.ControllerRevision]{g.c, store.ControllerRevisions, namespace}}
}
