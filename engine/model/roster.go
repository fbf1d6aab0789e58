package model

import (
	"cmp"
	"maps"
	"slices"
)

// Roster is the pods that have not finished, by uid, by owner and by namespace. Make it with NewRoster.
type Roster struct {
	pods   map[string]*Pod
	owned  map[string]map[string]*Pod // by owner, then by uid
	spaces map[string]map[string]*Pod // by namespace, then by uid
}

// NewRoster is one without pods.
func NewRoster() Roster {
	return Roster{pods: map[string]*Pod{}, owned: map[string]map[string]*Pod{}, spaces: map[string]map[string]*Pod{}}
}

// Put takes in how a pod is.
func (r *Roster) Put(p *Pod) {
	r.Remove(p.UID)
	if p.Finished() {
		return
	}
	r.pods[p.UID] = p
	enlist(r.spaces, p.Namespace, p)
	if p.Owner.UID != "" {
		enlist(r.owned, p.Owner.UID, p)
	}
}

// Remove takes in that a pod is gone.
func (r *Roster) Remove(uid string) {
	p, ok := r.pods[uid]
	if !ok {
		return
	}
	delete(r.pods, uid)
	strike(r.spaces, p.Namespace, uid)
	strike(r.owned, p.Owner.UID, uid)
}

// Pod is a pod by uid; nil when it is gone or finished.
func (r *Roster) Pod(uid string) *Pod { return r.pods[uid] }

// Len is how many there are.
func (r *Roster) Len() int { return len(r.pods) }

// All are all pods, in no order.
func (r *Roster) All() []*Pod { return slices.Collect(maps.Values(r.pods)) }

// In are the pods of a namespace, in no order.
func (r *Roster) In(namespace string) []*Pod { return slices.Collect(maps.Values(r.spaces[namespace])) }

// Of are the pods of an owner, the oldest first.
func (r *Roster) Of(owner Owner) []*Pod {
	return slices.SortedFunc(maps.Values(r.owned[owner.UID]), ByAge)
}

// ByAge compares pods by age, the oldest first, then by name and uid.
func ByAge(a, b *Pod) int {
	return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.Key(), b.Key()), cmp.Compare(a.UID, b.UID))
}

func enlist(m map[string]map[string]*Pod, key string, p *Pod) {
	if m[key] == nil {
		m[key] = map[string]*Pod{}
	}
	m[key][p.UID] = p
}

func strike(m map[string]map[string]*Pod, key, uid string) {
	delete(m[key], uid)
	if len(m[key]) == 0 {
		delete(m, key)
	}
}
