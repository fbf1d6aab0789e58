package placement

import (
	"errors"
	"fmt"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement/framework"
)

// DryRun filters nodes for a pod as if some of their pods were removed. It is invalid once
// the state changes.
type DryRun struct {
	ev  *framework.Evaluation
	rec decision.Record // result of PreFilter
}

// NewDryRun runs the PreFilter plugins for a pod. ok is false if one of them fails or
// rejects all nodes, so that removing pods does not help.
func NewDryRun(s *cluster.State, p *framework.Profile, pod *model.Pod) (d *DryRun, ok bool) {
	d = &DryRun{ev: framework.NewEvaluation(s, p, pod, s.NodeIDs())}
	return d, runPreFilters(d.ev, &d.rec)
}

// PreFilterNodes returns the node names to which PreFilter limits the search; ok is false
// if it does not.
func (d *DryRun) PreFilterNodes() (names []string, ok bool) {
	return d.rec.PreFilterNodes, d.rec.HasPreFilterNodes
}

// FilterWithout filters a node without some of its pods, with the given host ports in use.
// It runs the filters with and without nominated pods. An error means that a plugin cannot
// evaluate the node.
func (d *DryRun) FilterWithout(node string, removed []*model.Pod, ports []model.HostPort) (decision.Verdict, error) {
	candidate := d.ev.NodeByName(node)
	if candidate == nil {
		return decision.Verdict{}, fmt.Errorf("node %q does not exist", node)
	}
	d.ev.Err = ""
	candidate = candidate.With(nil, removed)
	candidate.Ports = ports
	v := d.ev.RunFiltersWithNominatedPods(candidate)
	if d.ev.Err != "" {
		return v, errors.New(d.ev.Err)
	}
	return v, nil
}
