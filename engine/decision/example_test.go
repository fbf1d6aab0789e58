package decision_test

import (
	"fmt"

	"github.com/berthproject/berth/engine/decision"
)

func ExampleReason_String() {
	r := decision.Reason{Kind: decision.ReasonInsufficient, Subject: "cpu", Want: 500, Used: 3800, Have: 4000}
	fmt.Println(r.String())
	// Output: Insufficient cpu
}

func ExamplePluginByName() {
	p, ok := decision.PluginByName("NodeResourcesFit")
	fmt.Println(p, ok)
	_, ok = decision.PluginByName("NoSuchPlugin")
	fmt.Println(ok)
	// Output:
	// NodeResourcesFit true
	// false
}

func ExampleSummary_AddReason() {
	var s decision.Summary
	s.AddReason(decision.NodeResourcesFit, decision.Unschedulable, decision.ReasonInsufficient, "cpu", 2)
	s.AddReason(decision.TaintToleration, decision.UnschedulableAndUnresolvable, decision.ReasonTaint, "gpu=true", 1)
	s.AddReason(decision.NodeResourcesFit, decision.Unschedulable, decision.ReasonInsufficient, "cpu", 1)
	decision.SortReasonCounts(s.ReasonCounts)
	for _, c := range s.ReasonCounts {
		fmt.Println(c.Nodes, c.Reason.String())
	}
	// Output:
	// 1 node(s) had untolerated taint(s)
	// 3 Insufficient cpu
}
