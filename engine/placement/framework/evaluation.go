package framework

import (
	"slices"
	"strings"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
)

// Evaluation is one pod's way through the rules on one state of the cluster. What
// it compiled is void once the state changes.
type Evaluation struct {
	State   *cluster.State
	Profile *Profile
	Pod     *model.Pod
	Nodes   []CandidateNode // all nodes, by name

	selectorKnown bool // group is known
	selector      *model.Selector

	Filters []FilterPlugin // those that have something to say, in the profile's order
	// Err is set by a rule that cannot judge a node: there is no decision then.
	Err string
}

func NewEvaluation(s *cluster.State, p *Profile, pod *model.Pod, nodes []cluster.NodeID) *Evaluation {
	ev := &Evaluation{State: s, Profile: p, Pod: pod, Nodes: make([]CandidateNode, len(nodes))}
	for i, id := range nodes {
		ev.Nodes[i] = NewCandidateNode(s.Node(id))
	}
	return ev
}

// RunFilters asks the compiled rules in order; the first that rejects decides.
func (ev *Evaluation) RunFilters(st *CandidateNode) decision.Verdict {
	for _, f := range ev.Filters {
		if v := f.Filter(st); v.Code != decision.Success {
			v.Plugin = f.Plugin
			return v
		}
	}
	return decision.Verdict{}
}

// RunFiltersWithNominatedPods judges a node twice when pods of at least the pod's priority
// are nominated to it: with them, as they will come, and without, as they may
// not come and the pod may need them (affinity). Both must pass.
func (ev *Evaluation) RunFiltersWithNominatedPods(st *CandidateNode) decision.Verdict {
	var ahead []*model.Pod
	for _, p := range ev.State.Nominated(st.ID) {
		if cluster.NominationCounts(p, ev.Pod) {
			ahead = append(ahead, p)
		}
	}
	if len(ahead) > 0 {
		if v := ev.RunFilters(st.With(ahead, nil)); v.Code != decision.Success {
			return v
		}
	}
	return ev.RunFilters(st)
}

// NodeByName returns the candidate node with a name; nil if there is none.
func (ev *Evaluation) NodeByName(name string) *CandidateNode {
	if name == "" {
		return nil
	}
	i, ok := slices.BinarySearchFunc(ev.Nodes, name, func(st CandidateNode, n string) int { return strings.Compare(st.Node.Name, n) })
	if !ok {
		return nil
	}
	return &ev.Nodes[i]
}
