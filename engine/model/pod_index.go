package model

import (
	"cmp"
	"maps"
	"slices"
)

// PodIndex indexes the pods that have not finished by UID, owner and namespace. Create one
// with NewPodIndex.
type PodIndex struct {
	pods       map[string]*Pod
	owned      map[string]map[string]*Pod // by owner, then by UID
	namespaces map[string]map[string]*Pod // by namespace, then by UID
}

// NewPodIndex returns an empty index.
func NewPodIndex() PodIndex {
	return PodIndex{pods: map[string]*Pod{}, owned: map[string]map[string]*Pod{}, namespaces: map[string]map[string]*Pod{}}
}

// Upsert adds a pod or replaces it; a finished pod is removed.
func (x *PodIndex) Upsert(p *Pod) {
	x.Remove(p.UID)
	if p.Finished() {
		return
	}
	x.pods[p.UID] = p
	addToIndex(x.namespaces, p.Namespace, p)
	if p.Owner.UID != "" {
		addToIndex(x.owned, p.Owner.UID, p)
	}
}

// Remove removes a pod.
func (x *PodIndex) Remove(uid string) {
	p, ok := x.pods[uid]
	if !ok {
		return
	}
	delete(x.pods, uid)
	removeFromIndex(x.namespaces, p.Namespace, uid)
	removeFromIndex(x.owned, p.Owner.UID, uid)
}

// Pod returns a pod by UID; nil if it does not exist or has finished.
func (x *PodIndex) Pod(uid string) *Pod { return x.pods[uid] }

// Len returns the number of pods.
func (x *PodIndex) Len() int { return len(x.pods) }

// All returns all pods in no particular order.
func (x *PodIndex) All() []*Pod { return slices.Collect(maps.Values(x.pods)) }

// InNamespace returns the pods of a namespace in no particular order.
func (x *PodIndex) InNamespace(namespace string) []*Pod {
	return slices.Collect(maps.Values(x.namespaces[namespace]))
}

// OwnedBy returns the pods of an owner, oldest first.
func (x *PodIndex) OwnedBy(owner Owner) []*Pod {
	return slices.SortedFunc(maps.Values(x.owned[owner.UID]), ByAge)
}

// ByAge compares pods by creation time, oldest first, then by name and UID.
func ByAge(a, b *Pod) int {
	return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.Key(), b.Key()), cmp.Compare(a.UID, b.UID))
}

func addToIndex(m map[string]map[string]*Pod, key string, p *Pod) {
	if m[key] == nil {
		m[key] = map[string]*Pod{}
	}
	m[key][p.UID] = p
}

func removeFromIndex(m map[string]map[string]*Pod, key, uid string) {
	delete(m[key], uid)
	if len(m[key]) == 0 {
		delete(m, key)
	}
}
