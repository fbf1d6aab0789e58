package explain

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/berthproject/berth/engine/decision"
)

// Message returns kube-scheduler's text for an attempt that found no node, as in the
// FailedScheduling event and the PodScheduled condition:
//
//	0/4 nodes are available: 1 Too many pods, 3 Insufficient cpu. preemption: 0/4 nodes are available: ...
func Message(s *decision.Summary) string {
	text := fitErrorText(s)
	if s.Outcome == decision.Infeasible && s.Preemption != nil {
		if more := Preemption(s.Preemption); more != "" {
			return text + " " + more
		}
	}
	return text
}

// Preemption returns the part of the text that explains why preemption does not help;
// empty if it does or was not tried.
func Preemption(p *decision.Preemption) string {
	switch p.Outcome {
	case decision.PreemptionPolicyNever:
		return "preemption: not eligible due to preemptionPolicy=Never."
	case decision.PreemptionVictimsTerminating:
		return "preemption: not eligible due to a terminating pod on the nominated node."
	case decision.PreemptionNoCandidates, decision.PreemptionDisabled:
		return "preemption: " + histogram(p.Nodes, p.ReasonCounts)
	case decision.PreemptionFailed:
		return "preemption: " + p.Error
	}
	return ""
}

func fitErrorText(s *decision.Summary) string {
	switch {
	case s.Outcome == decision.Errored:
		return s.Error
	case s.Nodes == 0:
		return "no nodes available to schedule pods"
	case s.Verdict != nil:
		return fmt.Sprintf("0/%d nodes are available: %s.", s.Nodes, decision.JoinReasons(s.Verdict.Reasons))
	}
	return histogram(s.Nodes, s.ReasonCounts)
}

// histogram returns the number of nodes by reason. As in kube-scheduler, the parts are
// sorted as strings ("10 ..." before "2 ...").
func histogram(nodes int, rows []decision.ReasonCount) string {
	counts := map[string]int{}
	for i := range rows {
		counts[reasonCountText(&rows[i])] += rows[i].Nodes
	}
	parts := make([]string, 0, len(counts))
	for text, n := range counts {
		parts = append(parts, strconv.Itoa(n)+" "+text)
	}
	slices.Sort(parts)
	return "0/" + strconv.Itoa(nodes) + " nodes are available: " + strings.Join(parts, ", ") + "."
}

// reasonCountText returns the text of one row. Nodes outside of the PreFilter result have
// no reason; the row names the plugins that limited the search, by default NodeAffinity.
func reasonCountText(c *decision.ReasonCount) string {
	if c.Plugin != decision.PreFilterResult {
		return c.Reason.String()
	}
	plugins := c.Reason.Subject
	if plugins == "" {
		plugins = decision.NodeAffinity.String()
	}
	return "node(s) didn't satisfy plugin(s) [" + plugins + "]"
}

// GatedMessage returns the text for a gated pod.
func GatedMessage(v *decision.Verdict) string {
	if v.Plugin == decision.SchedulingGates {
		return "Scheduling is blocked due to non-empty scheduling gates"
	}
	return v.Plugin.String() + ": " + decision.JoinReasons(v.Reasons)
}
