package fastpath

import (
	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement/framework"
	"github.com/berthproject/berth/engine/placement/plugins"
)

// Pods with volumes are decided by a scan, in which the volume rules themselves
// judge the nodes that have passed what comes before them. Their verdicts depend on
// claims, volumes and drivers, which nothing logs, so there are no views for them.

// volumePlugins are the volume rules, which stand together between fit and spreading.
var volumePlugins = [...]decision.Plugin{decision.VolumeRestrictions, decision.NodeVolumeLimits,
	decision.VolumeBinding, decision.VolumeZone}

// compileVolumePlugins compiles the volume rules for a pod into scratch.stored. It says
// no when one of them fails, refuses all nodes or narrows the search, which the plain path
// knows how to tell.
func (e *Engine) compileVolumePlugins(pod *model.Pod) bool {
	a := &framework.Evaluation{State: e.state, Profile: e.profile, Pod: pod}
	for _, r := range volumePlugins {
		c := plugins.PreFilter(a, r)
		if c.Err != nil || c.Verdict != nil || c.HasNodeNames {
			return false
		}
		if c.Filter != nil && e.plugins.filters.Has(r) {
			e.scratch.volumeFilters = append(e.scratch.volumeFilters, framework.FilterPlugin{Plugin: r, Filter: c.Filter})
		}
	}
	e.scratch.volumeAttempt, e.scratch.volumeRejections.Resolvable = a, 0
	return true
}

// filterVolumes says whether a node passes the volume rules, and counts it in
// scratch.refused if not.
func (e *Engine) filterVolumes(id cluster.NodeID) bool {
	st := framework.NewCandidateNode(e.state.Node(id))
	for _, f := range e.scratch.volumeFilters {
		v := f.Filter(&st)
		if v.Code == decision.Success {
			continue
		}
		if v.Code == decision.Unschedulable {
			e.scratch.volumeRejections.Resolvable++
		}
		for i := range v.Reasons {
			e.scratch.volumeRejections.AddReason(f.Plugin, v.Code, v.Reasons[i].Kind, v.Reasons[i].Subject, 1)
		}
		return false
	}
	return true
}

// decideWithVolumes decides about a pod with volumes. An attempt that fails is left to
// the plain path: which node failed it depends on the order.
func (e *Engine) decideWithVolumes(ec *equivalenceClass, pod *model.Pod, out *decision.Summary) {
	buckets := e.scan(ec)
	if e.scratch.volumeAttempt.Err != "" {
		e.decideByReference(pod, out)
		return
	}
	e.counters.WithVolumes++
	e.finish(ec, buckets, e.scratch.failures, out)
}
