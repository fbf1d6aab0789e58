package fastpath

import (
	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement"
)

// decideNamedNodes decides about a pod whose affinity names a few nodes, such as a pod of a DaemonSet. It runs the
// reference evaluator on these nodes alone.
func (e *Engine) decideNamedNodes(ec *equivalenceClass, pod *model.Pod, out *decision.Summary) {
	e.counters.NamedNodes++
	var ids []cluster.NodeID
	for _, name := range ec.names {
		if id, ok := e.state.NodeID(name); ok {
			ids = append(ids, id)
		}
	}
	nodes := out.Nodes
	rec := placement.EvaluateNodes(e.state, e.profile, e.seed, pod, ids)
	decision.SummarizeInto(rec, nodes, out)
	if excluded := nodes - len(ids); out.Outcome == decision.Infeasible && excluded > 0 {
		out.AddReason(decision.PreFilterResult, decision.UnschedulableAndUnresolvable, decision.NoReason, "", excluded)
		decision.SortReasonCounts(out.ReasonCounts)
	}
}
