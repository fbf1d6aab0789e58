package fakeowners

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

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
		o.desired[string(c.UID)] = map[string]labels.Set{first: p.Labels}
	default:
		all[first] = p.Labels
	}
}

// DesiredCount returns the number of desired replicas of a fake owner that a selector matches.
func (o *Replacer) DesiredCount(uid string, s labels.Selector) (n int32) {
	for _, l := range o.desired[uid] {
		if s.Matches(l) {
			n++
		}
	}
	return n
}

// RecordVictim records the length of the chain of preemptions that ends with the victim p.
func (o *Replacer) RecordVictim(p *corev1.Pod, depth int) { o.victimDepth[p.UID] = depth }

// ChainDepth returns the length of the chain of preemptions that led to a replacement, and whether
// the pod with this name replaces a victim.
func (o *Replacer) ChainDepth(pod string) (int, bool) {
	d, ok := o.replacementDepth[pod]
	return d, ok
}
