package placement

import (
	"slices"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
)

// decideNamedNodes decides about a pod whose search is limited to a few nodes by
// name, as those of a DaemonSet are: by the rules of the plain path, on these nodes
// alone. The shape made sure that nothing they read is on other nodes.
func (e *Engine) decideNamedNodes(ec *equivalenceClass, pod *model.Pod, out *decision.Summary) {
	e.counters.NamedNodes++
	a := &attempt{state: e.state, profile: e.profile, pod: pod}
	for _, name := range ec.names {
		if id, ok := e.state.NodeID(name); ok {
			a.nodes = append(a.nodes, newCandidateNode(e.state.Node(id)))
		}
	}
	revision, nodes := out.Revision, out.Nodes
	rec := &decision.Record{UID: pod.UID, Revision: revision, Outcome: decision.Infeasible}
	if a.runPreFilters(rec) {
		if feasible := a.findNodesThatFit(rec); len(feasible) > 0 {
			rec.Outcome = decision.Scheduled
			if err := a.prioritizeNodes(rec, feasible); err == nil {
				a.selectNode(rec, feasible, e.seed)
			}
		}
	}
	summarize(rec, nodes, out)
	if others := nodes - len(a.nodes); out.Outcome == decision.Infeasible && others > 0 {
		addReasonCount(out, decision.PreFilterResult, decision.UnschedulableAndUnresolvable, decision.NoReason, "", others)
		slices.SortFunc(out.ReasonCounts, compareReasonCounts)
	}
}
