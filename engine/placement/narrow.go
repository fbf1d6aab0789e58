package placement

import (
	"slices"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
)

// decideNarrow decides about a pod whose search is limited to a few nodes by
// name, as those of a DaemonSet are: by the rules of the plain path, on these nodes
// alone. The shape made sure that nothing they read is on other nodes.
func (e *Engine) decideNarrow(sh *shape, pod *model.Pod, out *decision.Summary) {
	e.counters.Narrow++
	a := &attempt{state: e.state, profile: e.profile, pod: pod}
	for _, name := range sh.names {
		if id, ok := e.state.NodeID(name); ok {
			a.sites = append(a.sites, siteOf(e.state.Node(id)))
		}
	}
	revision, nodes := out.Revision, out.Nodes
	rec := &decision.Record{UID: pod.UID, Revision: revision, Outcome: decision.Infeasible}
	if a.compile(rec) {
		if feasible := a.search(rec); len(feasible) > 0 {
			rec.Outcome = decision.Scheduled
			if err := a.score(rec, feasible); err == nil {
				a.choose(rec, feasible, e.seed)
			}
		}
	}
	summarize(rec, nodes, out)
	if others := nodes - len(a.sites); out.Outcome == decision.Infeasible && others > 0 {
		tell(out, decision.PreFilterResult, decision.Unresolvable, decision.NoReason, "", others)
		slices.SortFunc(out.Counts, byRule)
	}
}
