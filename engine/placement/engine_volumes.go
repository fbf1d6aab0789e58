package placement

import (
	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
)

// Pods with volumes are decided by a scan, in which the volume rules themselves
// judge the nodes that have passed what comes before them. Their verdicts depend on
// claims, volumes and drivers, which nothing logs, so there are no views for them.

// volumePlugins are the volume rules, which stand together between fit and spreading.
var volumePlugins = [...]decision.Plugin{decision.VolumeRestrictions, decision.NodeVolumeLimits,
	decision.VolumeBinding, decision.VolumeZone}

func hasVolumes(s *model.PodSpec) bool { return len(s.Claims)+len(s.Disks)+len(s.Inline) > 0 }

// compileVolumePlugins compiles the volume rules for a pod into scratch.stored. It says
// no when one of them fails, refuses all nodes or narrows the search, which the plain path
// knows how to tell.
func (e *Engine) compileVolumePlugins(pod *model.Pod) bool {
	a := &attempt{state: e.state, profile: e.profile, pod: pod}
	for _, r := range volumePlugins {
		c := a.preFilter(r)
		if c.err != nil || c.verdict != nil || c.hasNames {
			return false
		}
		if c.filter != nil && e.plugins.filters.Has(r) {
			e.scratch.volumeFilters = append(e.scratch.volumeFilters, filterPlugin{r, c.filter})
		}
	}
	e.scratch.volumeAttempt, e.scratch.volumeRejections.Resolvable = a, 0
	return true
}

// filterVolumes says whether a node passes the volume rules, and counts it in
// scratch.refused if not.
func (e *Engine) filterVolumes(id cluster.NodeID) bool {
	st := newCandidateNode(e.state.Node(id))
	for _, f := range e.scratch.volumeFilters {
		v := f.filter(&st)
		if v.Code == decision.Success {
			continue
		}
		if v.Code == decision.Unschedulable {
			e.scratch.volumeRejections.Resolvable++
		}
		for i := range v.Reasons {
			addReasonCount(&e.scratch.volumeRejections, f.plugin, v.Code, v.Reasons[i].Kind, v.Reasons[i].Subject, 1)
		}
		return false
	}
	return true
}

// decideWithVolumes decides about a pod with volumes. An attempt that fails is left to
// the plain path: which node failed it depends on the order.
func (e *Engine) decideWithVolumes(ec *equivalenceClass, pod *model.Pod, out *decision.Summary) {
	buckets := e.scan(ec)
	if e.scratch.volumeAttempt.err != "" {
		e.decideByReference(pod, out)
		return
	}
	e.counters.WithVolumes++
	e.finish(ec, buckets, e.scratch.failures, out)
}
