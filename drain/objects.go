package drain

import (
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/engine/budget"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/internal/conversion"
)

// AddObjects adds the Kubernetes objects that scheduling reads, and the scales of controllers. It adds
// pods last, because they refer to other objects, and skips finished ones.
func (c *Cluster) AddObjects(objects []runtime.Object) {
	converter := conversion.New()
	scales := scales{}
	var pods []any
	for _, o := range objects {
		scales.read(o)
		switch m := converter.Convert(o).(type) {
		case nil:
		case *model.Pod:
			if !m.Finished() {
				pods = append(pods, m)
			}
		default:
			c.Objects = append(c.Objects, m)
		}
	}
	c.Objects = append(c.Objects, pods...)
	c.Scale = scales.of
}

// scales are the desired replicas of controllers by UID.
type scales map[string]budget.Scale

func (s scales) read(o runtime.Object) {
	set := func(uid types.UID, n *int32) {
		replicas := int32(1)
		if n != nil {
			replicas = *n
		}
		s[string(uid)] = budget.Scale{UID: string(uid), Replicas: replicas}
	}
	switch o := o.(type) {
	case *appsv1.ReplicaSet:
		set(o.UID, o.Spec.Replicas)
	case *appsv1.StatefulSet:
		set(o.UID, o.Spec.Replicas)
	case *corev1.ReplicationController:
		set(o.UID, o.Spec.Replicas)
	case *batchv1.Job:
		s[string(o.UID)] = budget.Scale{Fault: "a Job has no scale"}
	}
}

func (s scales) of(o model.Owner) budget.Scale {
	if scale, ok := s[o.UID]; ok {
		return scale
	}
	return budget.Scale{Fault: "not found, or its kind has no scale"}
}
