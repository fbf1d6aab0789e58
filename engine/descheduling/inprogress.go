package descheduling

import (
	"slices"

	"github.com/berthproject/berth/engine/model"
)

// InProgressMove is a move of an earlier plan that has started and not finished.
type InProgressMove struct {
	Pod     *model.Pod // the evicted pod
	Details *PodDetails
	To      string // node of the replacement; empty for a finished pod, which is only deleted
	// Replacement is the pod that replaces Pod, or nil.
	Replacement *model.Pod
	Hold        *model.Hold // its reservation, or nil
}

// AwaitsReplacement reports whether the replacement is not scheduled yet.
func (m *InProgressMove) AwaitsReplacement() bool {
	return m.To != "" && (m.Replacement == nil || m.Replacement.NodeName == "")
}

// ApplyInProgress updates the snapshot to the state after all moves in progress: terminating
// pods are removed and expected replacements are on their nodes. A strategy that counted both
// pods of a move, or neither, would move too many pods.
func (s *Snapshot) ApplyInProgress(moves []InProgressMove) {
	evicted, expected, unbound := map[string]bool{}, map[string][]*Pod{}, map[string]bool{}
	for i := range moves {
		m := &moves[i]
		evicted[m.Pod.UID] = true
		if !m.AwaitsReplacement() {
			continue
		}
		p := *m.Pod
		p.UID, p.NodeName, p.Deleting, p.Ready = "expected/"+m.Pod.UID, m.To, false, false
		if m.Replacement != nil {
			unbound[m.Replacement.UID] = true
		}
		expected[m.To] = append(expected[m.To], &Pod{Pod: &p, Details: m.Details, Expected: true})
		if s.Usage != nil {
			s.Usage.addPod(m.To, s.Usage.Pods[m.Pod.UID], p.UID)
		}
	}
	for _, n := range s.Nodes {
		s.applyToNode(n, evicted, expected[n.Name])
	}
	s.Unbound = slices.DeleteFunc(slices.Clone(s.Unbound), func(p *Pod) bool { return unbound[p.UID] })
}

// applyToNode removes the evicted and terminating pods of a node and adds the expected ones.
func (s *Snapshot) applyToNode(n *Node, evicted map[string]bool, expected []*Pod) {
	isRemoved := func(p *Pod) bool { return evicted[p.UID] || p.Deleting }
	if len(expected) == 0 && !slices.ContainsFunc(n.Pods, isRemoved) {
		return
	}
	var pods []*Pod
	for _, p := range n.Pods {
		if !isRemoved(p) {
			pods = append(pods, p)
		} else if s.Usage != nil {
			s.Usage.removePod(n.Name, p.UID)
		}
	}
	pods = append(pods, expected...)
	n.Pods = pods
	slices.SortFunc(n.Pods, compareByKey)
}

func (u *Usage) addPod(node string, used model.Resources, uid string) {
	nodeUsage, measured := u.Nodes[node]
	if !measured {
		return
	}
	nodeUsage.Scalars = slices.Clone(nodeUsage.Scalars)
	addRequests(&nodeUsage, &used)
	u.Nodes[node], u.Pods[uid] = nodeUsage, used
}

func (u *Usage) removePod(node, uid string) {
	used, ok := u.Pods[uid]
	nodeUsage, measured := u.Nodes[node]
	if !ok || !measured {
		return
	}
	nodeUsage.MilliCPU, nodeUsage.Memory = max(nodeUsage.MilliCPU-used.MilliCPU, 0), max(nodeUsage.Memory-used.Memory, 0)
	u.Nodes[node] = nodeUsage
}
