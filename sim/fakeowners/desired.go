package fakeowners

import (
	"context"
	"slices"
	"strings"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/controllers/disruption"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/sim/store"
)

// trackDesired tracks the desired replicas of fake owners.
func (o *Replacer) trackDesired(p *corev1.Pod, deleted bool) {
	c := metav1.GetControllerOfNoCopy(p)
	if c == nil || !strings.HasPrefix(string(c.UID), UIDPrefix) {
		return
	}
	first, _, _ := strings.Cut(store.KeyOf(p), "-r.")
	all := o.desired[string(c.UID)]
	switch {
	case deleted && (p.Annotations[ReplaceAnnotation] == "" || o.disabled || o.retired[first]), p.Status.Phase == corev1.PodSucceeded:
		delete(all, first)
	case all == nil:
		o.desired[string(c.UID)] = map[string]bool{first: true}
	default:
		all[first] = true
	}
}

// scalableKinds are the built-in kinds with a scale.
var scalableKinds = []string{"ReplicaSet", "Deployment", "StatefulSet", "ReplicationController"}

// Scale implements disruption.Scales: it returns the desired replicas of a fake owner.
func (o *Replacer) Scale(_ context.Context, _ string, owner model.Owner) (*autoscalingv1.Scale, error) {
	switch {
	case strings.HasPrefix(owner.UID, UIDPrefix):
		return &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{UID: types.UID(owner.UID)}, Spec: autoscalingv1.ScaleSpec{Replicas: int32(len(o.desired[owner.UID]))}}, nil
	case slices.Contains(scalableKinds, owner.Kind):
		return nil, nil // not found
	}
	group, _, _ := strings.Cut(owner.APIVersion, "/")
	return nil, &disruption.NoScaleError{Resource: strings.ToLower(owner.Kind) + "s." + group}
}

// RecordVictim records the length of the chain of preemptions that ends with the victim p.
func (o *Replacer) RecordVictim(p *corev1.Pod, depth int) { o.victimDepth[p.UID] = depth }

// ChainDepth returns the length of the chain of preemptions that led to a replacement, and whether
// the pod with this name replaces a victim.
func (o *Replacer) ChainDepth(pod string) (int, bool) {
	d, ok := o.replacementDepth[pod]
	return d, ok
}
