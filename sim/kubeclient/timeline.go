package kubeclient

import (
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/sim/store"
)

func (c *client) logCreatedPod(o store.Object) {
	p, ok := o.(*corev1.Pod)
	if owner := metav1.GetControllerOfNoCopy(o); ok && owner != nil {
		key := store.KeyOf(p)
		c.w.Log(c.actor.Name(), "create", key, key+" is created for "+strings.ToLower(owner.Kind)+" "+owner.Name)
	}
}

func (c *client) logDeletedPod(key string) {
	c.w.Log(c.actor.Name(), "delete", key, key+" is deleted by its owner")
}

func (c *client) logCreatedSet(key string, o store.Object) {
	rs, ok := o.(*appsv1.ReplicaSet)
	if owner := metav1.GetControllerOfNoCopy(o); ok && owner != nil {
		c.w.Log(c.actor.Name(), "create", key, fmt.Sprintf("replicaset %s is created for deployment %s with %d pods", rs.Name, owner.Name, replicas(rs)))
	}
}

func (c *client) logScaledSet(key string, before int32, o store.Object) {
	if n := replicas(o); n != before {
		c.w.Log(c.actor.Name(), "scale", key, fmt.Sprintf("replicaset %s is scaled to %d pods", o.GetName(), n))
	}
}

// replicas returns the replicas of a ReplicaSet; 0 for other kinds.
func replicas(o store.Object) int32 {
	if rs, ok := o.(*appsv1.ReplicaSet); ok && rs.Spec.Replicas != nil {
		return *rs.Spec.Replicas
	}
	return 0
}
