package garbagecollector

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// object is a node of the graph.
type object struct {
	resource        schema.GroupVersionResource
	kind            schema.GroupKind
	namespace, name string
	uid             types.UID
	owners          []metav1.OwnerReference
	deleting        bool
	foreground      bool      // being deleted, waits for its dependents
	orphans         bool      // being deleted, waits until its dependents are orphaned
	deletionTime    time.Time // deletionTimestamp
}

// graph holds the observed owners and dependents.
type graph struct {
	mu      sync.Mutex
	objects map[types.UID]*object
	// dependents holds the UIDs of the dependents of each owner, by the owner's UID. The owner may be missing in objects.
	dependents map[types.UID]map[types.UID]bool
}

func newGraph() *graph {
	return &graph{objects: map[types.UID]*object{}, dependents: map[types.UID]map[types.UID]bool{}}
}

func newObject(r schema.GroupVersionResource, k schema.GroupKind, m metav1.Object) *object {
	o := &object{resource: r, kind: k, namespace: m.GetNamespace(), name: m.GetName(), uid: m.GetUID(), owners: m.GetOwnerReferences()}
	if at := m.GetDeletionTimestamp(); at != nil {
		o.deleting, o.deletionTime = true, at.Time
	}
	o.foreground = o.deleting && slices.Contains(m.GetFinalizers(), metav1.FinalizerDeleteDependents)
	o.orphans = o.deleting && slices.Contains(m.GetFinalizers(), metav1.FinalizerOrphanDependents)
	return o
}

// upsert adds or updates an object and returns the UIDs to enqueue.
func (g *graph) upsert(o *object) (enqueue []types.UID) {
	g.mu.Lock()
	defer g.mu.Unlock()
	old := g.objects[o.uid]
	g.objects[o.uid] = o
	if old == nil || !equality.Semantic.DeepEqual(old.owners, o.owners) {
		if old != nil {
			enqueue = append(enqueue, g.unlink(old)...)
		}
		for i := range o.owners {
			owner := o.owners[i].UID
			if g.dependents[owner] == nil {
				g.dependents[owner] = map[types.UID]bool{}
			}
			g.dependents[owner][o.uid] = true
		}
		if len(o.owners) > 0 {
			enqueue = append(enqueue, o.uid)
		}
	}
	if o.foreground && (old == nil || !old.foreground) {
		enqueue = append(enqueue, o.uid)
		enqueue = append(enqueue, g.dependentsOf(o.uid)...)
	}
	if o.orphans && (old == nil || !old.orphans) {
		enqueue = append(enqueue, o.uid)
	}
	return enqueue
}

// remove removes an object and returns the UIDs to enqueue: its dependents, and owners that wait for it.
func (g *graph) remove(uid types.UID) (enqueue []types.UID) {
	g.mu.Lock()
	defer g.mu.Unlock()
	o := g.objects[uid]
	if o == nil {
		return nil
	}
	delete(g.objects, uid)
	return append(g.unlink(o), g.dependentsOf(uid)...)
}

// unlink removes an object from its owners and returns the owners that wait for their dependents.
func (g *graph) unlink(o *object) (waiting []types.UID) {
	for i := range o.owners {
		owner := o.owners[i].UID
		if delete(g.dependents[owner], o.uid); len(g.dependents[owner]) == 0 {
			delete(g.dependents, owner)
		}
		if existing := g.objects[owner]; existing != nil && existing.foreground {
			waiting = append(waiting, owner)
		}
	}
	return waiting
}

// dependentsOf returns dependents sorted by UID.
func (g *graph) dependentsOf(uid types.UID) []types.UID {
	out := make([]types.UID, 0, len(g.dependents[uid]))
	for d := range g.dependents[uid] {
		out = append(out, d)
	}
	slices.Sort(out)
	return out
}

// get returns an object and its dependents. It returns nil if the object is not in the graph.
func (g *graph) get(uid types.UID) (*object, []*object) {
	g.mu.Lock()
	defer g.mu.Unlock()
	o := g.objects[uid]
	if o == nil {
		return nil, nil
	}
	var dependents []*object
	for _, d := range g.dependentsOf(uid) {
		if existing := g.objects[d]; existing != nil {
			dependents = append(dependents, existing)
		}
	}
	return o, dependents
}

// all returns all objects, sorted by UID.
func (g *graph) all() []*object {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.SortedFunc(maps.Values(g.objects), func(a, b *object) int { return strings.Compare(string(a.uid), string(b.uid)) })
}

// blocks reports whether the object blocks the deletion of an owner.
func (o *object) blocks(owner types.UID) bool {
	return slices.ContainsFunc(o.owners, func(r metav1.OwnerReference) bool {
		return r.UID == owner && r.BlockOwnerDeletion != nil && *r.BlockOwnerDeletion
	})
}
