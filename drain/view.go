package drain

import (
	"cmp"
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

	pods    map[string]*model.Pod            // unfinished, by uid, as the API has them
	owned   map[string]map[string]*model.Pod // by owner, then by uid
	spaces  map[string]map[string]*model.Pod // by namespace, then by uid
	pending map[string]*model.Pod            // without a node, by uid
}

// NewView is a view of a state, without pods yet.
func NewView(s *cluster.State) *View {
	return &View{State: s, pods: map[string]*model.Pod{}, owned: map[string]map[string]*model.Pod{},
		spaces: map[string]map[string]*model.Pod{}, pending: map[string]*model.Pod{}}
}

// Put takes in how a pod is.
func (v *View) Put(p *model.Pod) {
	v.Remove(p.UID)
	if p.Finished() {
		return
	}
	v.pods[p.UID] = p
	put(v.spaces, p.Namespace, p)
	if p.Owner.UID != "" {
		put(v.owned, p.Owner.UID, p)
	}
	if p.NodeName == "" {
		v.pending[p.UID] = p
	}
}

// Remove takes in that a pod is gone.
func (v *View) Remove(uid string) {
	p, ok := v.pods[uid]
	if !ok {
		return
	}
	delete(v.pods, uid)
	delete(v.pending, uid)
	drop(v.spaces, p.Namespace, uid)
	drop(v.owned, p.Owner.UID, uid)
}

// Pod is a pod by uid; nil when it is gone or finished.
func (v *View) Pod(uid string) *model.Pod { return v.pods[uid] }

// Of are the pods of an owner, the oldest first.
func (v *View) Of(owner model.Owner) []*model.Pod { return sorted(v.owned[owner.UID]) }

// in are the pods of a namespace, in no order.
func (v *View) in(namespace string) []*model.Pod {
	return slices.Collect(maps.Values(v.spaces[namespace]))
}

// Pending are the pods without a node, the oldest first.
func (v *View) Pending() []*model.Pod { return sorted(v.pending) }

func put(m map[string]map[string]*model.Pod, key string, p *model.Pod) {
	if m[key] == nil {
		m[key] = map[string]*model.Pod{}
	}
	m[key][p.UID] = p
}

func drop(m map[string]map[string]*model.Pod, key, uid string) {
	delete(m[key], uid)
	if len(m[key]) == 0 {
		delete(m, key)
	}
}

func sorted(m map[string]*model.Pod) []*model.Pod {
	out := make([]*model.Pod, 0, len(m))
	for _, p := range m {
		out = append(out, p)
	}
	slices.SortFunc(out, func(a, b *model.Pod) int {
		return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.Key(), b.Key()), cmp.Compare(a.UID, b.UID))
	})
	return out
}
