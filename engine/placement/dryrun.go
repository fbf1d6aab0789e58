package placement

import (
	"errors"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement/framework"
)

// DryRun filters nodes for a pod as if some of their pods were removed. It is invalid once
// the state changes.
type DryRun struct {
	a   *framework.Evaluation
	rec decision.Record // that the rules were compiled into
}

// NewDryRun runs the PreFilter plugins for a pod. ok is false if one of them fails or
// rejects all nodes, so that removing pods does not help.
func NewDryRun(s *cluster.State, p *framework.Profile, pod *model.Pod) (t *DryRun, ok bool) {
	t = &DryRun{a: framework.NewEvaluation(s, p, pod, s.NodeIDs())}
	return t, runPreFilters(t.a, &t.rec)
}

// PreFilterNodes returns the node names to which PreFilter limits the search; ok is false
// if it does not.
func (t *DryRun) PreFilterNodes() (names []string, ok bool) {
	return t.rec.PreFilterNodes, t.rec.HasPreFilterNodes
}

// FilterWithout filters a node without some of its pods, with the given host ports in use.
// It runs the filters with and without nominated pods. An error means that a plugin cannot
// evaluate the node.
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
