package plugins

import (
	"fmt"
	"slices"

	"github.com/berthproject/berth/engine/descheduling"
	"github.com/berthproject/berth/engine/model"
)

// RemovePodsViolatingNodeTaints removes pods from nodes with taints that they do not tolerate.
// It ignores NoExecute taints, which the taint eviction controller enforces.
type RemovePodsViolatingNodeTaints struct {
	descheduling.Scope
	// PreferNoSchedule includes taints with this effect, in addition to NoSchedule.
	PreferNoSchedule bool
	// Excluded taints are ignored; if Included is not empty, only those count. Both hold keys or
	// key=value. At most one is set.
	Excluded, Included []string
}

// Name returns the plugin name used in policies.
func (*RemovePodsViolatingNodeTaints) Name() string { return "RemovePodsViolatingNodeTaints" }

// Run implements descheduling.Strategy.
func (s *RemovePodsViolatingNodeTaints) Run(r *descheduling.Round) {
	r.EvictMatching(func(p *descheduling.Pod, n *descheduling.Node) bool {
		return !p.Finished() && s.Scope.Has(p) && !descheduling.ToleratesTaints(p, n, s.includes)
	}, func(p *descheduling.Pod, n *descheduling.Node) *descheduling.Candidate {
		c := descheduling.NewCandidate(p, n, "")
		c.Reason = func() string { return fmt.Sprintf("it does not tolerate %s", formatTaints(s.untoleratedTaints(p, n))) }
		before := int64(len(s.untoleratedTaints(p, n)))
		c.Gain = func(to *descheduling.Node) descheduling.Gain {
			g := descheduling.Gain{Before: before, After: before, Metric: "untolerated taints"}
			if len(s.untoleratedTaints(p, to)) == 0 { // a node with fewer violations would only cause another move
				g.After = 0
			}
			return g
		}
		return c
	})
}

// includes reports whether the strategy considers a taint.
func (s *RemovePodsViolatingNodeTaints) includes(t *model.Taint) bool {
	if t.Effect != model.NoSchedule && !(s.PreferNoSchedule && t.Effect == model.PreferNoSchedule) {
		return false
	}
	if len(s.Included) > 0 {
		return listsTaint(s.Included, t)
	}
	return !listsTaint(s.Excluded, t)
}

// listsTaint reports whether a list contains a taint by key or key=value.
func listsTaint(list []string, t *model.Taint) bool {
	return slices.Contains(list, t.Key) || t.Value != "" && slices.Contains(list, t.Key+"="+t.Value)
}

// untoleratedTaints returns the considered taints of n that p does not tolerate.
func (s *RemovePodsViolatingNodeTaints) untoleratedTaints(p *descheduling.Pod, n *descheduling.Node) (out []*model.Taint) {
	for i := range n.Taints {
		t := &n.Taints[i]
		if s.includes(t) && !slices.ContainsFunc(p.Spec.Tolerations, func(tol model.Toleration) bool { return tol.ToleratesTaint(t, false) }) {
			out = append(out, t)
		}
	}
	return out
}

// formatTaints formats taints as kubectl does.
func formatTaints(list []*model.Taint) string {
	out := ""
	for i, t := range list {
		if i > 0 {
			out += ", "
		}
		out += t.Key
		if t.Value != "" {
			out += "=" + t.Value
		}
		out += ":" + t.Effect.String()
	}
	return out
}
