package placement

import (
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement/plugins"
)

// NodeShouldRunDaemonPod reports whether a DaemonSet pod may be created on a node, and
// whether an existing one may stay, by NodeAffinity and TaintToleration. A NoSchedule
// taint does not affect existing pods.
func NodeShouldRunDaemonPod(spec *model.PodSpec, n *model.Node) (shouldRun, shouldContinue bool) {
	if _, ok := plugins.MatchesNodeSelector(&spec.NodeSelector, n); !ok {
		return false, false
	}
	shouldRun, shouldContinue = true, true
	for i := range n.Taints {
		t := &n.Taints[i]
		if t.Effect == model.PreferNoSchedule || toleratesTaint(spec, t) {
			continue
		}
		shouldRun = false
		if t.Effect == model.NoExecute {
			shouldContinue = false
		}
	}
	return shouldRun, shouldContinue
}
