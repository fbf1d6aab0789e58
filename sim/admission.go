package sim

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/nodepressure"
	"github.com/berthproject/berth/engine/placement"
)

// nodeAdmission are what the agents count on their nodes: each its own pods, until nothing of
// them runs any longer, whatever the scheduler counts.
type nodeAdmission struct {
	w     *World
	state *cluster.State
}

// addPod counts a pod that an agent has taken.
func (r *nodeAdmission) addPod(p *agentPod) {
	if !p.life.Stopped() && !finished(p.object) {
		r.state.UpsertPod(r.w.intake.Pod(p.object))
	}
}

// check returns why a node does not take a pod by the rules of placement; nil: it does. A critical
// one is always taken.
func (r *nodeAdmission) check(p *corev1.Pod, n *corev1.Node) *rejection {
	r.state.UpsertNode(r.w.intake.Node(n))
	id, _ := r.state.NodeID(n.Name)
	for _, there := range slices.Clone(r.state.Node(id).Pods) {
		if run := r.w.agents.pods[types.UID(there.UID)]; run == nil || run.life.Stopped() {
			r.state.RemovePod(there.UID)
		}
	}
	pod := r.w.intake.Pod(p)
	denials := placement.AdmissionCheck(r.state.Node(id), pod)
	if len(denials) == 0 || nodepressure.Critical(pod, nil) {
		return nil
	}
	d := denials[0]
	return &rejection{d.Reason, d.Message, "no place for it: " + d.Reason}
}

// compareAdmitted has the pods that were taken before counted before others are judged.
func compareAdmitted(a, b *corev1.Pod) int {
	switch {
	case (a.Status.StartTime == nil) == (b.Status.StartTime == nil):
		return 0
	case a.Status.StartTime == nil:
		return 1
	}
	return -1
}
