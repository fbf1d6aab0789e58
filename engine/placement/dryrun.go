package placement

import (
	"errors"
	"slices"
	"strings"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
)

// DryRun judges nodes as they would be for a pod if some pods left them, by the
// rules of the plain path. It is void once the state changes.
type DryRun struct {
	a   *attempt
	rec decision.Record // that the rules were compiled into
}

// NewDryRun compiles the rules for a pod. ok is false when one of them fails or
// refuses all nodes at once: no pod's leaving helps then.
func NewDryRun(s *cluster.State, p *Profile, pod *model.Pod) (t *DryRun, ok bool) {
	t = &DryRun{a: newAttempt(s, p, pod)}
	return t, t.a.runPreFilters(&t.rec)
}

// PreFilterNodes are the names of the nodes that the rules limit the search to; ok is false
// when they do not.
func (t *DryRun) PreFilterNodes() (names []string, ok bool) {
	return t.rec.PreFilterNodes, t.rec.HasPreFilterNodes
}

// FilterWithout judges a node without some of its pods: with the pods of at least the
// pod's priority that are nominated to it, and without them. Ports are the host ports
// taken then. An error means that a rule cannot judge the node.
func (t *DryRun) FilterWithout(node string, removed []*model.Pod, ports []model.HostPort) (decision.Verdict, error) {
	st := t.a.nodeByName(node)
	if st == nil {
		return decision.Verdict{}, errors.New("node " + node + " is not known")
	}
	t.a.err = ""
	st = st.with(nil, removed)
	st.ports = ports
	v := t.a.runFiltersWithNominatedPods(st)
	if t.a.err != "" {
		return v, errors.New(t.a.err)
	}
	return v, nil
}

// TieBreaker is the order in which a pod takes nodes that are equally good, the same
// for placing it and for making room for it.
type TieBreaker struct{ start uint64 }

// NewTieBreaker is the order for the pod of a model.Pod.TieKey under a seed.
func NewTieBreaker(seed uint64, key string) TieBreaker { return TieBreaker{tieStart(seed, key)} }

// Start is where the order begins on the circle of node keys.
func (t TieBreaker) Start() uint64 { return t.start }

// Compare says which of two nodes comes first.
func (t TieBreaker) Compare(a, b *cluster.NodeInfo) int {
	switch {
	case a == b:
		return 0
	case precedes(t.start, a.NameHash, a.Model.Name, b.NameHash, b.Model.Name):
		return -1
	case precedes(t.start, b.NameHash, b.Model.Name, a.NameHash, a.Model.Name):
		return 1
	}
	return strings.Compare(a.Model.Name, b.Model.Name)
}

// AddReasonCounts counts nodes with a verdict, a row for each of its reasons, as summaries
// do. SortCounts at the end.
func AddReasonCounts(counts []decision.ReasonCount, v *decision.Verdict, nodes int) []decision.ReasonCount {
	s := decision.Summary{ReasonCounts: counts}
	for i := range v.Reasons {
		addReasonCount(&s, v.Plugin, v.Code, v.Reasons[i].Kind, v.Reasons[i].Subject, nodes)
	}
	return s.ReasonCounts
}

// SortReasonCounts brings rows into the order of summaries.
func SortReasonCounts(counts []decision.ReasonCount) { slices.SortFunc(counts, compareReasonCounts) }
