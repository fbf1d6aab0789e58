package placement

import (
	"errors"
	"slices"
	"strings"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
)

// Trial judges nodes as they would be for a pod if some pods left them, by the
// rules of the plain path. It is void once the state changes.
type Trial struct {
	a   *attempt
	rec decision.Record // that the rules were compiled into
}

// NewTrial compiles the rules for a pod. ok is false when one of them fails or
// refuses all nodes at once: no pod's leaving helps then.
func NewTrial(s *cluster.State, p *Profile, pod *model.Pod) (t *Trial, ok bool) {
	t = &Trial{a: newAttempt(s, p, pod)}
	return t, t.a.compile(&t.rec)
}

// Narrowed are the names of the nodes that the rules limit the search to; ok is false
// when they do not.
func (t *Trial) Narrowed() (names []string, ok bool) { return t.rec.PreFilterNodes, t.rec.Narrowed }

// Without judges a node without some of its pods: with the pods of at least the
// pod's priority that are nominated to it, and without them. Ports are the host ports
// taken then. An error means that a rule cannot judge the node.
func (t *Trial) Without(node string, removed []*model.Pod, ports []model.HostPort) (decision.Verdict, error) {
	st := t.a.siteNamed(node)
	if st == nil {
		return decision.Verdict{}, errors.New("node " + node + " is not known")
	}
	t.a.failed = ""
	st = st.with(nil, removed)
	st.ports = ports
	v := t.a.judgeNominated(st)
	if t.a.failed != "" {
		return v, errors.New(t.a.failed)
	}
	return v, nil
}

// Ties is the order in which a pod takes nodes that are equally good, the same
// for placing it and for making room for it.
type Ties struct{ point uint64 }

// TiesOf is the order for the pod of a model.Pod.TieKey under a seed.
func TiesOf(seed uint64, key string) Ties { return Ties{tiePoint(seed, key)} }

// Point is where the order begins on the circle of node keys.
func (t Ties) Point() uint64 { return t.point }

// Compare says which of two nodes comes first.
func (t Ties) Compare(a, b *cluster.NodeInfo) int {
	switch {
	case a == b:
		return 0
	case before(t.point, a.Key, a.Model.Name, b.Key, b.Model.Name):
		return -1
	case before(t.point, b.Key, b.Model.Name, a.Key, a.Model.Name):
		return 1
	}
	return strings.Compare(a.Model.Name, b.Model.Name)
}

// Tell counts nodes with a verdict, a row for each of its reasons, as summaries
// do. SortCounts at the end.
func Tell(counts []decision.Count, v *decision.Verdict, nodes int) []decision.Count {
	s := decision.Summary{Counts: counts}
	for i := range v.Reasons {
		tell(&s, v.Rule, v.Code, v.Reasons[i].Why, v.Reasons[i].Subject, nodes)
	}
	return s.Counts
}

// SortCounts brings rows into the order of summaries.
func SortCounts(counts []decision.Count) { slices.SortFunc(counts, byRule) }
