package framework

import (
	"slices"
	"strings"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
)

// Evaluation is the evaluation of one pod on one cluster state. It is invalid once the
// state changes.
type Evaluation struct {
	State   *cluster.State
	Profile *Profile
	Pod     *model.Pod
	Nodes   []CandidateNode // sorted by name

	selectorComputed bool // whether selector has been computed
	selector         *model.Selector

	Filters []FilterPlugin // in the order of the profile; without plugins that have nothing to filter
	// Err is the error of a filter that could not evaluate a node. It fails the attempt.
	Err string
}

// NewEvaluation returns an Evaluation of a pod for nodes, which are sorted by name.
func NewEvaluation(s *cluster.State, p *Profile, pod *model.Pod, nodes []cluster.NodeID) *Evaluation {
	ev := &Evaluation{State: s, Profile: p, Pod: pod, Nodes: make([]CandidateNode, len(nodes))}
	for i, id := range nodes {
		ev.Nodes[i] = NewCandidateNode(s.Node(id))
	}
	return ev
}

// RunFilters runs the filters on a node and returns the first rejection.
func (ev *Evaluation) RunFilters(candidate *CandidateNode) decision.Verdict {
	for _, f := range ev.Filters {
		if v := f.Filter(candidate); v.Code != decision.Success {
			v.Plugin = f.Plugin
			return v
		}
	}
	return decision.Verdict{}
}

// RunFiltersWithNominatedPods runs the filters twice if pods of at least the same priority are
// nominated to the node. It runs them with these pods, and without them, because they may not be
// bound to it. Both runs must succeed.
func (ev *Evaluation) RunFiltersWithNominatedPods(candidate *CandidateNode) decision.Verdict {
	var nominated []*model.Pod
	for _, p := range ev.State.Nominated(candidate.ID) {
		if cluster.NominationCounts(p, ev.Pod) {
			nominated = append(nominated, p)
		}
	}
	if len(nominated) > 0 {
		if v := ev.RunFilters(candidate.With(nominated, nil)); v.Code != decision.Success {
			return v
		}
	}
	return ev.RunFilters(candidate)
}

// NodeByName returns the candidate node with a name; nil if there is none.
func (ev *Evaluation) NodeByName(name string) *CandidateNode {
	if name == "" {
		return nil
	}
	i, ok := slices.BinarySearchFunc(ev.Nodes, name, func(candidate CandidateNode, n string) int { return strings.Compare(candidate.Node.Name, n) })
	if !ok {
		return nil
	}
	return &ev.Nodes[i]
}
