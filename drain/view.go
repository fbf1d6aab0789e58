package drain

import (
	"maps"
	"slices"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/model"
)

// View is the drain's view of the cluster. Create it with NewView, and update it whenever State is
// updated.
type View struct {
	// State is used for placement. It may contain assumed pods.
	State *cluster.State

	podIndex
	pending map[string]*model.Pod // unscheduled, by UID
}

type podIndex = model.PodIndex

// NewView returns a view of s without pods.
func NewView(s *cluster.State) *View {
	return &View{State: s, podIndex: model.NewPodIndex(), pending: map[string]*model.Pod{}}
}

// Put adds or updates a pod.
func (v *View) Put(p *model.Pod) {
	v.Remove(p.UID)
	v.podIndex.Upsert(p)
	if p.NodeName == "" && !p.Finished() {
		v.pending[p.UID] = p
	}
}

// Remove removes a pod.
func (v *View) Remove(uid string) {
	v.podIndex.Remove(uid)
	delete(v.pending, uid)
}

// Pending returns the unscheduled pods, the oldest first.
func (v *View) Pending() []*model.Pod { return slices.SortedFunc(maps.Values(v.pending), model.ByAge) }
