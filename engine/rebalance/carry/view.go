package carry

import (
	"cmp"
	"slices"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/model"
)

// View is a cluster as who carries out a plan sees it. Make it with NewView, and tell it of each change of a pod
// that State is told of. State has the Holds that there are, those whose time is over included: the machine
// has them deleted.
type View struct {
	// State is what is where.
	State *cluster.State

	pods   map[string]*model.Pod            // unfinished, by uid
	owned  map[string]map[string]*model.Pod // by owner, then by uid
	spaces map[string]map[string]*model.Pod // by namespace, then by uid
}

// NewView is a view of a state, without pods yet.
func NewView(s *cluster.State) *View {
	return &View{State: s, pods: map[string]*model.Pod{}, owned: map[string]map[string]*model.Pod{}, spaces: map[string]map[string]*model.Pod{}}
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
}

// Remove takes in that a pod is gone.
func (v *View) Remove(uid string) {
	p, ok := v.pods[uid]
	if !ok {
		return
	}
	delete(v.pods, uid)
	drop(v.spaces, p.Namespace, uid)
	drop(v.owned, p.Owner.UID, uid)
}

// Pod is a pod by uid; nil when it is gone or finished.
func (v *View) Pod(uid string) *model.Pod { return v.pods[uid] }

// Of are the pods of an owner, the oldest first.
func (v *View) Of(owner model.Owner) []*model.Pod { return sorted(v.owned[owner.UID]) }

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
