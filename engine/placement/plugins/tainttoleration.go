package plugins

import (
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement/framework"
)

// taintToleration rejects a node for its first NoSchedule or NoExecute taint that the pod
// does not tolerate.
func taintToleration(ev *framework.Evaluation) framework.PreFilterState {
	return framework.PreFilterState{Filter: func(candidate *framework.CandidateNode) decision.Verdict {
		t := Untolerated(ev, candidate.Node.Taints)
		if t == nil {
			return decision.Verdict{}
		}
		return framework.Reject(decision.UnschedulableAndUnresolvable, decision.Reason{Kind: decision.ReasonTaint, Subject: formatTaint(t)})
	}}
}

// Untolerated returns the first NoSchedule or NoExecute taint that the pod does not
// tolerate; nil if there is none.
func Untolerated(ev *framework.Evaluation, taints []model.Taint) *model.Taint {
	for i := range taints {
		if t := &taints[i]; t.Effect != model.PreferNoSchedule && !Tolerates(ev, t) {
			return t
		}
	}
	return nil
}

// scoreTaintToleration counts the PreferNoSchedule taints that the pod does not tolerate;
// fewer are better.
func scoreTaintToleration(ev *framework.Evaluation, _ []*framework.CandidateNode) framework.PreScoreState {
	return framework.PreScoreState{
		Score: func(candidate *framework.CandidateNode) int64 {
			var n int64
			for i := range candidate.Node.Taints {
				if t := &candidate.Node.Taints[i]; t.Effect == model.PreferNoSchedule && !Tolerates(ev, t) {
					n++
				}
			}
			return n
		},
		NormalizeScore: func(_ []*framework.CandidateNode, points []int64) { defaultNormalizeScore(points, true) },
	}
}

// Tolerates reports whether the evaluated pod tolerates a taint.
func Tolerates(ev *framework.Evaluation, t *model.Taint) bool {
	for i := range ev.Pod.Spec.Tolerations {
		if ev.Pod.Spec.Tolerations[i].ToleratesTaint(t, ev.Profile.Config().NumericTolerations) {
			return true
		}
	}
	return false
}

// formatTaint formats a taint as kubectl does.
func formatTaint(t *model.Taint) string {
	if t.Value == "" {
		return t.Key + ":" + t.Effect.String()
	}
	return t.Key + "=" + t.Value + ":" + t.Effect.String()
}

// defaultNormalizeScore scales the scores so that the maximum becomes 100, or 0 with
// reverse. If all are 0, the result is 0, or 100 with reverse.
func defaultNormalizeScore(points []int64, reverse bool) {
	var highest int64
	for _, v := range points {
		highest = max(highest, v)
	}
	for i, v := range points {
		switch {
		case highest == 0 && reverse:
			points[i] = 100
		case highest == 0:
			points[i] = 0
		case reverse:
			points[i] = 100 - 100*v/highest
		default:
			points[i] = 100 * v / highest
		}
	}
}
