package fastpath

import (
	"strconv"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement/plugins"
)

// The rejections that depend only on the node object and the pod. They are negative. For a node that
// is not rejected, the value is that of packStatic: the number of PreferNoSchedule taints in the lower
// half, and the preferred affinity, which must be below maxPreference, in the upper half.
const (
	failUnschedulable int32 = -1 - iota
	failTaint
	failEnforced
	failAffinity
	failPorts // depends on other pods, but is counted with the static rejections
	failAvoid // depends on Holds, but is counted with the static rejections
)

// maxPreference is the limit of the preferred affinity of a node.
const maxPreference = 1 << 15

func packStatic(soft, preference int64) int32 { return int32(min(soft, 1<<16-1) | preference<<16) }

func unpackStatic(v int32) (soft, preference int64) { return int64(v & 0xffff), int64(v >> 16) }

// compileStatic compiles the plugins that read only the node object.
func (c *classBuilder) compileStatic() {
	ev, cfg, filters := c.ev, c.engine.profile.Config(), c.engine.plugins.filters
	preferred, added := c.spec.NodeSelector.Preferred, cfg.AddedAffinity.Preferred
	c.prefers = len(preferred)+len(added) > 0
	var maxScore int64
	for _, list := range [][]model.PreferredSchedulingTerm{preferred, added} {
		for i := range list {
			c.reference = c.reference || list[i].Weight < 0
			maxScore += int64(list[i].Weight)
		}
	}
	if maxScore >= maxPreference {
		c.reference = true
		return
	}
	filtersUnschedulable := filters.Has(decision.NodeUnschedulable) && !plugins.Tolerates(ev, &plugins.UnschedulableTaint)
	taints := c.engine.index.MemoizeByTaints(func(n *model.Node) int32 {
		if filtersUnschedulable && n.Unschedulable {
			return failUnschedulable
		}
		if filters.Has(decision.TaintToleration) && plugins.Untolerated(ev, n.Taints) != nil {
			return failTaint
		}
		var soft int32
		for i := range n.Taints {
			if t := &n.Taints[i]; t.Effect == model.PreferNoSchedule && !plugins.Tolerates(ev, t) {
				soft++
			}
		}
		return soft
	})
	enforced := &cfg.AddedAffinity
	filtersAffinity := filters.Has(decision.NodeAffinity)
	c.static = c.engine.index.NodeValues(c.staticKey(), func(n *cluster.NodeInfo) int32 {
		soft := taints(n)
		if soft < 0 {
			return soft
		}
		if filtersAffinity {
			if enforced.HasRequired && !plugins.MatchesAnyTerm(enforced.Required, n.Model) {
				return failEnforced
			}
			if _, ok := plugins.MatchesNodeSelector(&ev.Pod.Spec.NodeSelector, n.Model); !ok {
				return failAffinity
			}
		}
		return packStatic(int64(soft), plugins.PreferredWeight(added, n.Model)+plugins.PreferredWeight(preferred, n.Model))
	})
}

// staticKey returns a key of the static plugins and their parameters.
func (c *classBuilder) staticKey() string {
	cfg := c.engine.profile.Config()
	b := append(make([]byte, 0, 128), "static "...)
	b = strconv.AppendUint(b, uint64(c.engine.plugins.filters), 10)
	b = appendTolerations(b, c.spec.Tolerations, cfg.NumericTolerations)
	b = appendSelected(append(b, '|'), &c.spec.NodeSelector)
	added := model.NodeSelector{HasRequired: cfg.AddedAffinity.HasRequired, Required: cfg.AddedAffinity.Required}
	b = appendSelected(append(b, '|'), &added)
	for _, list := range [][]model.PreferredSchedulingTerm{c.spec.NodeSelector.Preferred, cfg.AddedAffinity.Preferred} {
		b = append(b, '|')
		for i := range list {
			b = strconv.AppendInt(b, int64(list[i].Weight), 10)
			b = cluster.AppendNodeTerm(b, &list[i].Term)
		}
	}
	return string(b)
}

// staticReason returns the plugin, the code and the reason of a static rejection.
func staticReason(fail int32) (decision.Plugin, decision.Code, decision.ReasonKind) {
	switch fail {
	case failUnschedulable:
		return decision.NodeUnschedulable, decision.UnschedulableAndUnresolvable, decision.ReasonUnschedulable
	case failTaint:
		return decision.TaintToleration, decision.UnschedulableAndUnresolvable, decision.ReasonTaint
	case failEnforced:
		return decision.NodeAffinity, decision.UnschedulableAndUnresolvable, decision.ReasonEnforcedAffinity
	case failAffinity:
		return decision.NodeAffinity, decision.UnschedulableAndUnresolvable, decision.ReasonNodeAffinity
	case failAvoid:
		return decision.HoldAvoid, decision.UnschedulableAndUnresolvable, decision.ReasonAvoidHold
	}
	return decision.NodePorts, decision.Unschedulable, decision.ReasonPorts
}
