package explain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/berthproject/berth/engine/decision"
)

// Message is kube-scheduler's text for an attempt that found no node, as its
// FailedScheduling event and PodScheduled condition show it.
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

// Preemption is the part of the text that says why no room can be made; empty
// when it can, or when nobody tried.
func Preemption(p *decision.Preemption) string {
	switch p.Outcome {
	case decision.PreemptionPolicyNever:
		return "preemption: not eligible due to preemptionPolicy=Never."
	case decision.PreemptionVictimsTerminating:
		return "preemption: not eligible due to a terminating pod on the nominated node."
	case decision.PreemptionNoCandidates:
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

// histogram says how many nodes were refused for what. The parts are sorted as
// strings, as upstream ("10 ..." before "2 ...").
func histogram(nodes int, rows []decision.ReasonCount) string {
	counts := map[string]int{}
	for i := range rows {
		counts[reasonCountText(&rows[i])] += rows[i].Nodes
	}
	parts := make([]string, 0, len(counts))
	for text, n := range counts {
		parts = append(parts, fmt.Sprintf("%d %s", n, text))
	}
	slices.Sort(parts)
	return fmt.Sprintf("0/%d nodes are available: %s.", nodes, strings.Join(parts, ", "))
}

// reasonCountText words one row. Nodes outside of the names that a rule narrowed the
// search to have no reason of their own; the row's subject names the rules that
// did, and node affinity is the usual one.
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

// GatedMessage is the text for a pod that is held back before the queue.
func GatedMessage(v *decision.Verdict) string {
	if v.Plugin == decision.SchedulingGates {
		return "Scheduling is blocked due to non-empty scheduling gates"
	}
	return v.Plugin.String() + ": " + decision.JoinReasons(v.Reasons)
}
