package framework

import "github.com/berthproject/berth/engine/decision"

// PreFilterState is what a rule makes of a pod before any node is looked at. At most
// one of err and refusal is set. A rule without judge has nothing to say.
type PreFilterState struct {
	Err     error             // the attempt fails
	Verdict *decision.Verdict // no node can do
	// HasNodeNames: only the nodes of these names (sorted) are worth a look.
	HasNodeNames bool
	NodeNames    []string
	Filter       func(*CandidateNode) decision.Verdict
}

// PreScoreState is what a rule makes of a pod and of the nodes that fit it. A rule
// without raw has nothing to score.
type PreScoreState struct {
	Err   error // the attempt fails
	Score func(*CandidateNode) int64
	// NormalizeScore turns the raw points of the feasible sites, in their order, into
	// 0 to 100 in place; nil when raw points are that already.
	NormalizeScore func(sites []*CandidateNode, points []int64)
}

// FilterPlugin is a rule that was compiled for a pod and judges nodes.
type FilterPlugin struct {
	Plugin decision.Plugin
	Filter func(*CandidateNode) decision.Verdict
}

// Reject makes a verdict of one reason; the rule is filled in by who asks.
func Reject(code decision.Code, why decision.Reason) decision.Verdict {
	return decision.Verdict{Code: code, Reasons: []decision.Reason{why}}
}
