package agent

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/nodepressure"
	"github.com/berthproject/berth/engine/placement"
	"github.com/berthproject/berth/sim"
	"github.com/berthproject/berth/sim/store"
)

// nodeAdmission holds the pods that each agent has admitted and that still run, regardless of
// the scheduler's view.
type nodeAdmission struct {
	w     *sim.World
	a     *Agents
	state *cluster.State
}

func newNodeAdmission(w *sim.World, a *Agents) nodeAdmission {
	return nodeAdmission{w: w, a: a, state: cluster.New()}
}

// addPod counts an admitted pod.
func (n *nodeAdmission) addPod(p *agentPod) {
	if !p.lifecycle.Stopped() && !store.Finished(p.object) {
		n.state.UpsertPod(n.w.Converter().Pod(p.object))
	}
}

// check returns why the placement rules reject a pod on its node, or nil. Critical pods are
// never rejected.
func (n *nodeAdmission) check(p *corev1.Pod, node *corev1.Node) *rejection {
	n.state.UpsertNode(n.w.Converter().Node(node))
	id, _ := n.state.NodeID(node.Name)
	for _, admitted := range slices.Clone(n.state.Node(id).Pods) {
		if current := n.a.pods[types.UID(admitted.UID)]; current == nil || current.lifecycle.Stopped() {
			n.state.RemovePod(admitted.UID)
		}
	}
	pod := n.w.Converter().Pod(p)
	denials := placement.AdmissionCheck(n.state.Node(id), pod)
	if len(denials) == 0 || nodepressure.Critical(pod, nil) {
		return nil
	}
	d := denials[0]
	return &rejection{d.Reason, d.Message, "insufficient resources: " + d.Reason}
}

// compareAdmitted orders admitted pods before pods that are not admitted yet.
func compareAdmitted(a, b *corev1.Pod) int {
	switch {
	case (a.Status.StartTime == nil) == (b.Status.StartTime == nil):
		return 0
	case a.Status.StartTime == nil:
		return 1
	}
	return -1
}
