package evacuation

import (
	"cmp"
	"maps"
	"slices"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/model"
)

// View is the state of the cluster that a machine reads. Create it with NewView, and update its pods whenever State is
// updated. State includes expired Holds if the machine is to delete them, and may contain assumed pods.
type View struct {
	State *cluster.State

	model.PodIndex
	pending map[string]*model.Pod // unscheduled, by UID
}

// NewView returns a view of s without pods.
func NewView(s *cluster.State) *View {
	return &View{State: s, PodIndex: model.NewPodIndex(), pending: map[string]*model.Pod{}}
}

// Upsert adds or updates a pod.
func (v *View) Upsert(p *model.Pod) {
	v.Remove(p.UID)
	v.PodIndex.Upsert(p)
	if p.NodeName == "" && !p.Finished() {
		v.pending[p.UID] = p
	}
}

// Remove removes a pod.
func (v *View) Remove(uid string) {
	v.PodIndex.Remove(uid)
	delete(v.pending, uid)
}

// Pending returns the unscheduled pods, the oldest first.
func (v *View) Pending() []*model.Pod { return slices.SortedFunc(maps.Values(v.pending), model.ByAge) }

// PodsOn returns the pods on a node, sorted by key.
func (v *View) PodsOn(node string) []*model.Pod {
	id, ok := v.State.NodeID(node)
	if !ok {
		return nil
	}
	var out []*model.Pod
	for _, p := range v.State.Node(id).Pods {
		if current := v.Pod(p.UID); current != nil && current.NodeName == node {
			out = append(out, current)
		}
	}
	slices.SortFunc(out, func(a, b *model.Pod) int { return cmp.Compare(a.Key(), b.Key()) })
	return out
}
