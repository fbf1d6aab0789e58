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
func (u *InProgressMove) AwaitsReplacement() bool {
	return u.To != "" && (u.Replacement == nil || u.Replacement.NodeName == "")
}

// ApplyInProgress updates the snapshot to the state after all moves in progress: terminating
// pods are gone and expected replacements are on their nodes. A strategy that saw both, or
// neither, would move too many pods.
func (s *Snapshot) ApplyInProgress(moves []InProgressMove) {
	evicted, expected, unbound := map[string]bool{}, map[string][]*Pod{}, map[string]bool{}
	for i := range moves {
		u := &moves[i]
		evicted[u.Pod.UID] = true
		if !u.AwaitsReplacement() {
			continue
		}
		p := *u.Pod
		p.UID, p.NodeName, p.Deleting, p.Ready = "coming/"+u.Pod.UID, u.To, false, false
		if u.Replacement != nil {
			unbound[u.Replacement.UID] = true
		}
		expected[u.To] = append(expected[u.To], &Pod{Pod: &p, Details: u.Details, Expected: true})
		if s.Usage != nil {
			s.Usage.addPod(u.To, s.Usage.Pods[u.Pod.UID], p.UID)
		}
	}
	for _, n := range s.Nodes {
		s.applyToNode(n, evicted, expected[n.Name])
	}
	s.Unbound = slices.DeleteFunc(slices.Clone(s.Unbound), func(p *Pod) bool { return unbound[p.UID] })
}

// applyToNode removes the leaving pods of a node and adds the expected ones.
func (s *Snapshot) applyToNode(n *Node, evicted map[string]bool, expected []*Pod) {
	leaves := func(p *Pod) bool { return evicted[p.UID] || p.Deleting }
	if len(expected) == 0 && !slices.ContainsFunc(n.Pods, leaves) {
		return
	}
	var pods []*Pod
	for _, p := range n.Pods {
		if !leaves(p) {
			pods = append(pods, p)
		} else if s.Usage != nil {
			s.Usage.removePod(n.Name, p.UID)
		}
	}
	pods = append(pods, expected...)
	n.Pods = pods
	slices.SortFunc(n.Pods, compareByKey)
}

// addPod adds the usage of a pod to a node.
func (u *Usage) addPod(node string, used model.Resources, uid string) {
	on, measured := u.Nodes[node]
	if !measured {
		return
	}
	on.Scalars = slices.Clone(on.Scalars)
	addRequests(&on, &used)
	u.Nodes[node], u.Pods[uid] = on, used
}

// removePod subtracts the usage of a pod from a node.
func (u *Usage) removePod(node, uid string) {
	used, ok := u.Pods[uid]
	on, measured := u.Nodes[node]
	if !ok || !measured {
		return
	}
	on.MilliCPU, on.Memory = max(on.MilliCPU-used.MilliCPU, 0), max(on.Memory-used.Memory, 0)
	u.Nodes[node] = on
}
