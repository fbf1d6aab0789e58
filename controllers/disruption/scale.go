package disruption

import (
	"context"
	"errors"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	appslisters "k8s.io/client-go/listers/apps/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/berthproject/berth/controllers/workqueue"
	"github.com/berthproject/berth/engine/budget"
	"github.com/berthproject/berth/engine/model"
)

// Scales reads scale subresources.
type Scales interface {
	// Scale returns the scale of an object of any kind. It returns nil if the object does not exist, and a
	// *NoScaleError if its kind has no scale subresource.
	Scale(ctx context.Context, namespace string, o model.Owner) (*autoscalingv1.Scale, error)
}

// NoScaleError reports that a kind has no scale subresource.
type NoScaleError struct{ Resource string }

func (e *NoScaleError) Error() string {
	return e.Resource + " does not implement the scale subresource"
}

// Workloads reads the desired number of pods of workloads.
type Workloads struct {
	replicaSets  appslisters.ReplicaSetLister
	deployments  appslisters.DeploymentLister
	statefulSets appslisters.StatefulSetLister
	controllers  corelisters.ReplicationControllerLister
	customScales Scales
	synced       []cache.InformerSynced
}

// NewWorkloads returns Workloads that read the built-in workloads from a factory's caches. customScales returns the scale
// of all others and may be nil.
func NewWorkloads(f informers.SharedInformerFactory, customScales Scales) *Workloads {
	apps, core := f.Apps().V1(), f.Core().V1()
	return &Workloads{replicaSets: apps.ReplicaSets().Lister(), deployments: apps.Deployments().Lister(), statefulSets: apps.StatefulSets().Lister(),
		controllers: core.ReplicationControllers().Lister(), customScales: customScales,
		synced: []cache.InformerSynced{apps.ReplicaSets().Informer().HasSynced, apps.Deployments().Informer().HasSynced,
			apps.StatefulSets().Informer().HasSynced, core.ReplicationControllers().Informer().HasSynced}}
}

// watch calls onChange with the namespace of each workload that is created or deleted, or whose
// replicas change.
func (w *Workloads) watch(f informers.SharedInformerFactory, onChange func(namespace string)) error {
	apps, core := f.Apps().V1(), f.Core().V1()
	return errors.Join(
		watchReplicas(apps.ReplicaSets().Informer(), func(o *appsv1.ReplicaSet) *int32 { return o.Spec.Replicas }, onChange),
		watchReplicas(apps.Deployments().Informer(), func(o *appsv1.Deployment) *int32 { return o.Spec.Replicas }, onChange),
		watchReplicas(apps.StatefulSets().Informer(), func(o *appsv1.StatefulSet) *int32 { return o.Spec.Replicas }, onChange),
		watchReplicas(core.ReplicationControllers().Informer(), func(o *corev1.ReplicationController) *int32 { return o.Spec.Replicas }, onChange))
}

func watchReplicas[T interface {
	comparable
	metav1.Object
}](informer cache.SharedInformer, replicas func(T) *int32, onChange func(string)) error {
	var zero T
	return workqueue.Watch(informer, func(old, cur T) {
		switch {
		case cur == zero:
			onChange(old.GetNamespace())
		case old == zero || old.GetUID() != cur.GetUID() || replicasOrDefault(replicas(old)) != replicasOrDefault(replicas(cur)):
			onChange(cur.GetNamespace())
		}
	})
}

// replicasOrDefault returns the replicas of a spec. The default is 1.
func replicasOrDefault(n *int32) int32 {
	if n == nil {
		return 1
	}
	return *n
}

// Query reads scales for one computation of a budget's status.
type Query struct {
	*Workloads
	ctx       context.Context
	namespace string
	err       error // the last transient error
}

// Query returns a Query in a namespace.
func (w *Workloads) Query(ctx context.Context, namespace string) *Query {
	return &Query{Workloads: w, ctx: ctx, namespace: namespace}
}

// Scale returns the scale of a controller or of the Deployment that owns it.
func (q *Query) Scale(o model.Owner) budget.Scale {
	if cached := q.cachedScale(o); cached != nil {
		return *cached
	}
	if q.customScales == nil {
		return budget.Scale{Fault: "not found, or its kind has no known scale"}
	}
	s, err := q.customScales.Scale(q.ctx, q.namespace, o)
	_, noScale := err.(*NoScaleError)
	switch {
	case err != nil:
		if !noScale {
			q.err = fmt.Errorf("reading the scale of %s %s/%s: %w", o.Kind, q.namespace, o.Name, err)
		}
		return budget.Scale{Fault: err.Error()}
	case s == nil || string(s.UID) != o.UID:
		return budget.Scale{Fault: "not found"}
	}
	return budget.Scale{UID: o.UID, Replicas: s.Spec.Replicas}
}

// cachedScale returns the scale of a controller from the informer caches, or nil.
func (q *Query) cachedScale(o model.Owner) *budget.Scale {
	switch {
	case o.Kind == "ReplicaSet" && inGroup(o, "apps"):
		rs, err := q.replicaSets.ReplicaSets(q.namespace).Get(o.Name)
		if err != nil || string(rs.UID) != o.UID {
			return nil
		}
		if ref := metav1.GetControllerOfNoCopy(rs); ref != nil && ref.Kind == "Deployment" {
			if d, err := q.deployments.Deployments(q.namespace).Get(ref.Name); err == nil && d.UID == ref.UID {
				return &budget.Scale{UID: string(d.UID), Replicas: replicasOrDefault(d.Spec.Replicas)}
			}
		}
		return &budget.Scale{UID: o.UID, Replicas: replicasOrDefault(rs.Spec.Replicas)}
	case o.Kind == "StatefulSet" && inGroup(o, "apps"):
		if s, err := q.statefulSets.StatefulSets(q.namespace).Get(o.Name); err == nil && string(s.UID) == o.UID {
			return &budget.Scale{UID: o.UID, Replicas: replicasOrDefault(s.Spec.Replicas)}
		}
	case o.Kind == "ReplicationController" && o.APIVersion == "v1":
		if c, err := q.controllers.ReplicationControllers(q.namespace).Get(o.Name); err == nil && string(c.UID) == o.UID {
			return &budget.Scale{UID: o.UID, Replicas: replicasOrDefault(c.Spec.Replicas)}
		}
	}
	return nil
}

// inGroup reports whether an owner's kind is in an API group, in any version.
func inGroup(o model.Owner, group string) bool {
	g, _, _ := strings.Cut(o.APIVersion, "/")
	return g == group
}
