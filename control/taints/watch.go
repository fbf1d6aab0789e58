package taints

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/berthproject/berth/control/loop"
	"github.com/berthproject/berth/engine/taints"
	"github.com/berthproject/berth/internal/intake"
)

// watch tells the machine of nodes and pods, as far as it cares.
func (e *evictions) watch(pods, nodes cache.SharedInformer) error {
	if err := loop.Watch(nodes, func(old, now *corev1.Node) {
		switch {
		case now == nil:
			e.steps.Put(taints.NodeGone{Name: old.Name})
		case old == nil || !slices.EqualFunc(old.Spec.Taints, now.Spec.Taints, sameTaint):
			e.steps.Put(taints.Node{Name: now.Name, Taints: intake.TimedTaints(now)})
		}
	}); err != nil {
		return err
	}
	return loop.Watch(pods, func(old, now *corev1.Pod) {
		switch {
		case now == nil, now.Spec.NodeName == "" && old != nil && old.Spec.NodeName != "": // or a namesake took its place
			e.steps.Put(taints.PodGone{Namespace: old.Namespace, Name: old.Name})
		case now.Spec.NodeName != "" && (old == nil || differ(old, now)):
			e.steps.Put(intake.TaintsPod(now))
		}
	})
}

func sameTaint(a, b corev1.Taint) bool {
	return a.Key == b.Key && a.Value == b.Value && a.Effect == b.Effect && a.TimeAdded.Equal(b.TimeAdded)
}

// differ says whether anything changed of a pod that taints read.
func differ(a, b *corev1.Pod) bool {
	return a.UID != b.UID || a.Spec.NodeName != b.Spec.NodeName || (a.DeletionTimestamp == nil) != (b.DeletionTimestamp == nil) ||
		!slices.EqualFunc(a.Spec.Tolerations, b.Spec.Tolerations, sameToleration) || !a.Status.StartTime.Equal(b.Status.StartTime) || !sameScheduled(a, b)
}

func sameToleration(a, b corev1.Toleration) bool {
	if (a.TolerationSeconds == nil) != (b.TolerationSeconds == nil) || a.TolerationSeconds != nil && *a.TolerationSeconds != *b.TolerationSeconds {
		return false
	}
	return a.Key == b.Key && a.Operator == b.Operator && a.Value == b.Value && a.Effect == b.Effect
}

func sameScheduled(a, b *corev1.Pod) bool {
	at := func(p *corev1.Pod) *corev1.PodCondition {
		for i := range p.Status.Conditions {
			if p.Status.Conditions[i].Type == corev1.PodScheduled {
				return &p.Status.Conditions[i]
			}
		}
		return &corev1.PodCondition{}
	}
	x, y := at(a), at(b)
	return x.Status == y.Status && x.LastTransitionTime.Equal(&y.LastTransitionTime)
}
