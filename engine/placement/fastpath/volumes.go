package fastpath

import (
	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement/framework"
	"github.com/berthproject/berth/engine/placement/plugins"
)

// A scan decides about pods with volumes. The volume plugins filter the nodes that pass
// the filters before them. Their verdicts depend on claims, volumes and drivers, which the
// change log does not cover, so there are no score caches.

// volumePlugins run between NodeResourcesFit and PodTopologySpread.
var volumePlugins = [...]decision.Plugin{decision.VolumeRestrictions, decision.NodeVolumeLimits,
	decision.VolumeBinding, decision.VolumeZone}

// compileVolumePlugins sets scratch.volumeFilters. It returns false if a plugin fails,
// rejects all nodes or limits the search, so that the reference evaluator decides.
func (e *Engine) compileVolumePlugins(pod *model.Pod) bool {
	ev := &framework.Evaluation{State: e.state, Profile: e.profile, Pod: pod}
	for _, plugin := range volumePlugins {
		state := plugins.PreFilter(ev, plugin)
		if state.Err != nil || state.Verdict != nil || state.HasNodeNames {
			return false
		}
		if state.Filter != nil && e.plugins.filters.Has(plugin) {
			e.scratch.volumeFilters = append(e.scratch.volumeFilters, framework.FilterPlugin{Plugin: plugin, Filter: state.Filter})
		}
	}
	e.scratch.volumeEvaluation, e.scratch.volumeRejections.Resolvable = ev, 0
	return true
}

// filterVolumes reports whether a node passes the volume plugins. It counts rejections in
// scratch.volumeRejections.
func (e *Engine) filterVolumes(id cluster.NodeID) bool {
	candidate := framework.NewCandidateNode(e.state.Node(id))
	for _, f := range e.scratch.volumeFilters {
		v := f.Filter(&candidate)
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

// decideWithVolumes decides about a pod with volumes. The reference evaluator decides
// about attempts that fail, because the error depends on the order of nodes.
func (e *Engine) decideWithVolumes(ec *equivalenceClass, pod *model.Pod, out *decision.Summary) {
	buckets := e.scan(ec)
	if e.scratch.volumeEvaluation.Err != "" {
		e.decideByReference(pod, out)
		return
	}
	e.counters.WithVolumes++
	e.finish(ec, buckets, e.scratch.failures, out)
}
