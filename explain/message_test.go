package explain

import (
	"testing"

	"github.com/berthproject/berth/engine/decision"
)

func TestMessage(t *testing.T) {
	count := func(n int, plugin decision.Plugin, reason decision.ReasonKind, subject string) decision.ReasonCount {
		return decision.ReasonCount{Plugin: plugin, Code: decision.Unschedulable, Reason: decision.Reason{Kind: reason, Subject: subject}, Nodes: n}
	}
	for name, tc := range map[string]struct {
		s    decision.Summary
		want string
	}{
		"parts are sorted as strings": {
			decision.Summary{Outcome: decision.Infeasible, Nodes: 13, ReasonCounts: []decision.ReasonCount{
				count(3, decision.NodeResourcesFit, decision.ReasonInsufficient, "cpu"),
				count(10, decision.NodeResourcesFit, decision.ReasonTooManyPods, "")}},
			"0/13 nodes are available: 10 Too many pods, 3 Insufficient cpu."},
		"equal reasons of two rows are merged": {
			decision.Summary{Outcome: decision.Infeasible, Nodes: 3, ReasonCounts: []decision.ReasonCount{
				count(1, decision.NodeResourcesFit, decision.ReasonInsufficient, "cpu"),
				{Plugin: decision.NodeResourcesFit, Code: decision.UnschedulableAndUnresolvable, Reason: decision.Reason{Kind: decision.ReasonInsufficient, Subject: "cpu"}, Nodes: 2}}},
			"0/3 nodes are available: 3 Insufficient cpu."},
		"nodes outside the names of the pre-filter": {
			decision.Summary{Outcome: decision.Infeasible, Nodes: 5, ReasonCounts: []decision.ReasonCount{
				count(1, decision.NodeAffinity, decision.ReasonNodeAffinity, ""), count(4, decision.PreFilterResult, decision.NoReason, "")}},
			"0/5 nodes are available: 1 node(s) didn't match Pod's node affinity/selector, 4 node(s) didn't satisfy plugin(s) [NodeAffinity]."},
		"refused for all nodes at once": {
			decision.Summary{Outcome: decision.Infeasible, Nodes: 4, Verdict: &decision.Verdict{Plugin: decision.VolumeRestrictions,
				Code: decision.UnschedulableAndUnresolvable, Reasons: []decision.Reason{{Kind: decision.ReasonText, Subject: `persistentvolumeclaim "data" not found`}}}},
			`0/4 nodes are available: persistentvolumeclaim "data" not found.`},
		"no nodes": {decision.Summary{Outcome: decision.Infeasible}, "no nodes available to schedule pods"},
		"an error": {decision.Summary{Outcome: decision.Errored, Error: "internal error", Nodes: 1}, "internal error"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Message(&tc.s); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}
