package drain

import (
	"maps"
	"slices"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/model"
)

// View is a cluster as who drains it sees it. Make it with NewView, and tell it of each
// change that State is told of.
type View struct {
	// State is what is where, for questions of placement. It may know more than the API: what is assumed.
	State *cluster.State

	roster
	pending map[string]*model.Pod // without a node, by uid
}

// roster is of the pods as the API has them.
type roster = model.PodIndex

// NewView is a view of a state, without pods yet.
func NewView(s *cluster.State) *View {
	return &View{State: s, roster: model.NewPodIndex(), pending: map[string]*model.Pod{}}
}

// Put takes in how a pod is.
func (v *View) Put(p *model.Pod) {
	v.Remove(p.UID)
	v.roster.Upsert(p)
	if p.NodeName == "" && !p.Finished() {
		v.pending[p.UID] = p
	}
}

// Remove takes in that a pod is gone.
func (v *View) Remove(uid string) {
	v.roster.Remove(uid)
	delete(v.pending, uid)
}

// Pending are the pods without a node, the oldest first.
func (v *View) Pending() []*model.Pod { return slices.SortedFunc(maps.Values(v.pending), model.ByAge) }
