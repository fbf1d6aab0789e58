package fastpath

import (
	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement"
)

// decideNamedNodes decides about a pod whose search is limited to a few nodes by
// name, as those of a DaemonSet are: by the rules of the plain path, on these nodes
// alone. The shape made sure that nothing they read is on other nodes.
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
	if others := nodes - len(ids); out.Outcome == decision.Infeasible && others > 0 {
		out.AddReason(decision.PreFilterResult, decision.UnschedulableAndUnresolvable, decision.NoReason, "", others)
		decision.SortReasonCounts(out.ReasonCounts)
	}
}
