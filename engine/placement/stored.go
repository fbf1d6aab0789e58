package placement

import (
	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
)

// Pods with volumes are decided by a scan, in which the volume rules themselves
// judge the nodes that have passed what comes before them. Their verdicts depend on
// claims, volumes and drivers, which nothing logs, so there are no views for them.

// storedRules are the volume rules, which stand together between fit and spreading.
var storedRules = [...]decision.Rule{decision.VolumeRestrictions, decision.NodeVolumeLimits,
	decision.VolumeBinding, decision.VolumeZone}

func hasVolumes(s *model.PodSpec) bool { return len(s.Claims)+len(s.Disks)+len(s.Inline) > 0 }

// compileVolumes compiles the volume rules for a pod into scratch.stored. It says
// no when one of them fails, refuses all nodes or narrows the search, which the plain path
// knows how to tell.
func (e *Engine) compileVolumes(pod *model.Pod) bool {
	a := &attempt{state: e.state, profile: e.profile, pod: pod}
	for _, r := range storedRules {
		c := a.compileFilter(r)
		if c.err != nil || c.refusal != nil || c.narrowed {
			return false
		}
		if c.judge != nil && e.rules.filters.Has(r) {
			e.scratch.stored = append(e.scratch.stored, filter{r, c.judge})
		}
	}
	e.scratch.storing, e.scratch.refused.Curable = a, 0
	return true
}

// judgeStored says whether a node passes the volume rules, and counts it in
// scratch.refused if not.
func (e *Engine) judgeStored(id cluster.NodeID) bool {
	st := siteOf(e.state.Node(id))
	for _, f := range e.scratch.stored {
		v := f.judge(&st)
		if v.Code == decision.Fits {
			continue
		}
		if v.Code == decision.Unschedulable {
			e.scratch.refused.Curable++
		}
		for i := range v.Reasons {
			tell(&e.scratch.refused, f.rule, v.Code, v.Reasons[i].Why, v.Reasons[i].Subject, 1)
		}
		return false
	}
	return true
}

// decideStored decides about a pod with volumes. An attempt that fails is left to
// the plain path: which node failed it depends on the order.
func (e *Engine) decideStored(sh *shape, pod *model.Pod, out *decision.Summary) {
	buckets := e.scan(sh)
	if e.scratch.storing.failed != "" {
		e.plainly(pod, out)
		return
	}
	e.counters.Stored++
	e.conclude(sh, buckets, e.scratch.fails, out)
}
