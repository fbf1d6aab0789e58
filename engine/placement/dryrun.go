package placement

import (
	"errors"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement/framework"
)

// DryRun judges nodes as they would be for a pod if some pods left them, by the
// rules of the plain path. It is void once the state changes.
type DryRun struct {
	a   *framework.Evaluation
	rec decision.Record // that the rules were compiled into
}

// NewDryRun compiles the rules for a pod. ok is false when one of them fails or
// refuses all nodes at once: no pod's leaving helps then.
func NewDryRun(s *cluster.State, p *framework.Profile, pod *model.Pod) (t *DryRun, ok bool) {
	t = &DryRun{a: framework.NewEvaluation(s, p, pod, s.NodeIDs())}
	return t, runPreFilters(t.a, &t.rec)
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
	st := t.a.NodeByName(node)
	if st == nil {
		return decision.Verdict{}, errors.New("node " + node + " is not known")
	}
	t.a.Err = ""
	st = st.With(nil, removed)
	st.Ports = ports
	v := t.a.RunFiltersWithNominatedPods(st)
	if t.a.Err != "" {
		return v, errors.New(t.a.Err)
	}
	return v, nil
}
