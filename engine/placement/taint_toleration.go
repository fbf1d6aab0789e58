package placement

import (
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
)

// taintToleration rejects a node for its first NoSchedule or NoExecute taint
// that the pod does not tolerate.
func (a *attempt) taintToleration() preFilterState {
	return preFilterState{filter: func(st *candidateNode) decision.Verdict {
		t := a.untolerated(st.node.Taints)
		if t == nil {
			return decision.Verdict{}
		}
		return rejection(decision.UnschedulableAndUnresolvable, decision.Reason{Kind: decision.ReasonTaint, Subject: formatTaint(t)})
	}}
}

// untolerated is the first taint that keeps the pod off, nil when there is none.
func (a *attempt) untolerated(taints []model.Taint) *model.Taint {
	for i := range taints {
		if t := &taints[i]; t.Effect != model.PreferNoSchedule && !a.tolerates(t) {
			return t
		}
	}
	return nil
}

// scoreTaintToleration counts the PreferNoSchedule taints that the pod does not
// tolerate; the fewer the better.
func (a *attempt) scoreTaintToleration() preScoreState {
	return preScoreState{
		score: func(st *candidateNode) int64 {
			var n int64
			for i := range st.node.Taints {
				if t := &st.node.Taints[i]; t.Effect == model.PreferNoSchedule && !a.tolerates(t) {
					n++
				}
			}
			return n
		},
		normalizeScore: func(_ []*candidateNode, points []int64) { defaultNormalizeScore(points, true) },
	}
}

func (a *attempt) tolerates(t *model.Taint) bool {
	for i := range a.pod.Spec.Tolerations {
		if tolerates(&a.pod.Spec.Tolerations[i], t, a.profile.cfg.TaintTolerationComparison) {
			return true
		}
	}
	return false
}

func tolerates(tol *model.Toleration, t *model.Taint, numeric bool) bool {
	return tol.ToleratesTaint(t, numeric)
}

// formatTaint is a taint as kubectl writes it.
func formatTaint(t *model.Taint) string {
	if t.Value == "" {
		return t.Key + ":" + t.Effect.String()
	}
	return t.Key + "=" + t.Value + ":" + t.Effect.String()
}

// defaultNormalizeScore scales points so that the most become 100; reverse gives those
// the least. When nobody has any, all get 0, or 100 in reverse.
func defaultNormalizeScore(points []int64, reverse bool) {
	var most int64
	for _, v := range points {
		most = max(most, v)
	}
	for i, v := range points {
		switch {
		case most == 0 && reverse:
			points[i] = 100
		case most == 0:
			points[i] = 0
		case reverse:
			points[i] = 100 - 100*v/most
		default:
			points[i] = 100 * v / most
		}
	}
}
