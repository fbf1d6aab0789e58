package framework

import "github.com/berthproject/berth/engine/decision"

// PreFilterState is the result of a plugin's PreFilter for a pod. At most one of Err and
// Verdict is set. If Filter is nil, the plugin rejects no node.
type PreFilterState struct {
	Err     error             // fails the attempt
	Verdict *decision.Verdict // rejects all nodes
	// HasNodeNames limits the search to NodeNames, which are sorted.
	HasNodeNames bool
	NodeNames    []string
	Filter       func(*CandidateNode) decision.Verdict
}

// PreScoreState is the result of a plugin's PreScore for a pod and its feasible nodes. If
// Score is nil, the plugin does not score.
type PreScoreState struct {
	Err   error // fails the attempt
	Score func(*CandidateNode) int64
	// NormalizeScore scales the scores of the feasible nodes to 0 to 100 in place; nil if they
	// are in that range.
	NormalizeScore func(candidates []*CandidateNode, points []int64)
}

// FilterPlugin is the filter of a plugin for one pod.
type FilterPlugin struct {
	Plugin decision.Plugin
	Filter func(*CandidateNode) decision.Verdict
}

// Reject returns a verdict with one reason. The caller sets the plugin.
func Reject(code decision.Code, reason decision.Reason) decision.Verdict {
	return decision.Verdict{Code: code, Reasons: []decision.Reason{reason}}
}
