package placement

import (
	"slices"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement/plugins"
)

// NodeShouldRunDaemonPod says whether a pod of a DaemonSet belongs on a node by the scheduler's own rules:
// NodeAffinity with its selector, and TaintToleration. May says that one is to be
// made there; stay that one that is there already is left alone, which a taint that only
// keeps new pods off does not change.
func NodeShouldRunDaemonPod(spec *model.PodSpec, n *model.Node) (may, stay bool) {
	if _, ok := plugins.MatchesNodeSelector(&spec.NodeSelector, n); !ok {
		return false, false
	}
	may, stay = true, true
	for i := range n.Taints {
		t := &n.Taints[i]
		if t.Effect == model.PreferNoSchedule || slices.ContainsFunc(spec.Tolerations, func(tol model.Toleration) bool { return tol.ToleratesTaint(t, false) }) {
			continue
		}
		may = false
		if t.Effect == model.NoExecute {
			stay = false
		}
	}
	return may, stay
}
