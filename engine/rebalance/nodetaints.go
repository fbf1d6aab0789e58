package rebalance

import (
	"fmt"
	"slices"

	"github.com/berthproject/berth/engine/model"
)

// RemovePodsViolatingNodeTaints removes pods from nodes with taints that they do not tolerate. Taints with the effect
// NoExecute are others' work.
type RemovePodsViolatingNodeTaints struct {
	Scope
	// PreferNoSchedule: taints with this effect count as well as NoSchedule.
	PreferNoSchedule bool
	// Excluded taints do not count; if Included is not empty, no others count. Both are keys, or key=value. At
	// most one is given.
	Excluded, Included []string
}

// Name is the plugin's in policies.
func (*RemovePodsViolatingNodeTaints) Name() string { return "RemovePodsViolatingNodeTaints" }

// Run implements Strategy.
func (s *RemovePodsViolatingNodeTaints) Run(r *Round) {
	r.sweep(func(p *Pod, n *Node) bool {
		return !p.Finished() && s.Scope.Has(p) && !Bears(p, n, s.counts)
	}, func(p *Pod, n *Node) *Candidate {
		c := because(p, n, "")
		c.Reason = func() string { return fmt.Sprintf("it does not tolerate %s", written(s.minded(p, n))) }
		before := int64(len(s.minded(p, n)))
		c.Gain = func(to *Node) Gain {
			g := Gain{Before: before, After: before, Of: "taints that it does not tolerate"}
			if left := s.minded(p, to); len(left) == 0 { // one less of them would only call for another move
				g.After = 0
			}
			return g
		}
		return c
	})
}

// counts says whether the strategy minds a taint.
func (s *RemovePodsViolatingNodeTaints) counts(t *model.Taint) bool {
	if t.Effect != model.NoSchedule && !(s.PreferNoSchedule && t.Effect == model.PreferNoSchedule) {
		return false
	}
	if len(s.Included) > 0 {
		return names(s.Included, t)
	}
	return !names(s.Excluded, t)
}

// names says whether a list names a taint by key or, if it has a value, by key=value.
func names(list []string, t *model.Taint) bool {
	return slices.Contains(list, t.Key) || t.Value != "" && slices.Contains(list, t.Key+"="+t.Value)
}

// minded are the taints of a node that count and that a pod does not tolerate.
func (s *RemovePodsViolatingNodeTaints) minded(p *Pod, n *Node) (out []*model.Taint) {
	for i := range n.Taints {
		t := &n.Taints[i]
		if s.counts(t) && !slices.ContainsFunc(p.Spec.Tolerations, func(tol model.Toleration) bool { return tol.Bears(t, false) }) {
			out = append(out, t)
		}
	}
	return out
}

// written names taints as kubectl does.
func written(list []*model.Taint) string {
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
