package store

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apitypes "k8s.io/apimachinery/pkg/types"
)

// Change is a commit: a creation if Old is nil, a deletion if New is nil.
type Change struct {
	Revision uint64
	Kind     Kind
	Old, New Object
}

// Object returns the changed object.
func (c *Change) Object() Object {
	if c.New != nil {
		return c.New
	}
	return c.Old
}

// Store is an in-memory API server for virtual time. Create it with New. It is not safe for concurrent use.
type Store struct {
	// OnCommit receives every commit.
	OnCommit func(Change)
	// DropsUpdate reports whether an update is not stored, although its sender gets no error. Tests of invariants insert this
	// defect. It may be nil.
	DropsUpdate func(Change) bool

	now         func() time.Time
	revision    uint64
	tables      map[Kind]*table
	uidCounters map[string]int // number of generated UIDs by "kind/key", and of generated names by "kind/prefix*"
}

// table holds the objects of a kind.
type table struct {
	keys    []string // sorted
	objects []Object // in the order of keys
}

// New returns an empty store; now returns the current time.
func New(now func() time.Time) *Store {
	s := &Store{OnCommit: func(Change) {}, now: now, tables: map[Kind]*table{}, uidCounters: map[string]int{}}
	for k := range types {
		s.tables[k] = &table{}
	}
	return s
}

// Revision returns the revision of the last commit.
func (s *Store) Revision() uint64 { return s.revision }

// Key returns "namespace/name", or the name of a cluster-scoped object.
func Key(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}

// KeyOf returns the key of an object. It uses the UID, which most often begins with the key, to avoid an allocation.
func KeyOf(o Object) string {
	namespace, name := o.GetNamespace(), o.GetName()
	key, _, _ := strings.Cut(string(o.GetUID()), "#")
	if before, after, isNamespaced := strings.Cut(key, "/"); isNamespaced && before == namespace && after == name || key == name && namespace == "" {
		return key
	}
	return Key(namespace, name)
}

// Get returns an object and whether it exists.
func (s *Store) Get(k Kind, key string) (Object, bool) {
	t := s.tables[k]
	i, ok := t.find(key)
	if !ok {
		return nil, false
	}
	return t.objects[i], true
}

// Pod returns a pod, or nil.
func (s *Store) Pod(key string) *corev1.Pod {
	o, ok := s.Get(Pods, key)
	if !ok {
		return nil
	}
	p, _ := o.(*corev1.Pod)
	return p
}

// List returns the objects of a kind, sorted by key. The slice must not be modified and is valid until
// the next commit.
func (s *Store) List(k Kind) []Object { return s.tables[k].objects }

// Create adds an object, sets its resource version, and sets its UID, creation time and generated name if it has none.
// The store takes ownership of the object.
func (s *Store) Create(o Object) error {
	k := KindOf(o)
	if k == "" {
		return fmt.Errorf("creating an object of type %T: the simulated API does not serve it", o)
	}
	if prefix := o.GetGenerateName(); o.GetName() == "" && prefix != "" {
		id := string(k) + "/" + Key(o.GetNamespace(), prefix) + "*"
		s.uidCounters[id]++
		o.SetName(prefix + strconv.Itoa(s.uidCounters[id]))
	}
	key := Key(o.GetNamespace(), o.GetName())
	t := s.tables[k]
	i, found := t.find(key)
	if found {
		return apierrors.NewAlreadyExists(groupResource(k), o.GetName())
	}
	if o.GetUID() == "" {
		id := string(k) + "/" + key
		s.uidCounters[id]++
		o.SetUID(apitypes.UID(key + "#" + strconv.Itoa(s.uidCounters[id])))
	}
	if created := o.GetCreationTimestamp(); created.IsZero() {
		o.SetCreationTimestamp(metav1.NewTime(s.now().Truncate(time.Second)))
	}
	s.setResourceVersion(o)
	t.keys = slices.Insert(t.keys, i, key)
	t.objects = slices.Insert(t.objects, i, o)
	s.OnCommit(Change{Revision: s.revision, Kind: k, New: o})
	return nil
}

// Precondition is what an object must match before a write; empty fields are ignored.
type Precondition struct{ UID, ResourceVersion string }

// Update replaces an object. f modifies a shallow copy, and must not modify referenced values: it replaces them. f may
// return an error; ErrUnchanged means success without a write. The object is deleted if it then
// has a deletion timestamp, but neither a grace period nor finalizers.
func (s *Store) Update(k Kind, key string, pre Precondition, f func(Object) error) error {
	t := s.tables[k]
	i, ok := t.find(key)
	if !ok {
		return apierrors.NewNotFound(groupResource(k), key)
	}
	old := t.objects[i]
	if err := pre.Check(k, old); err != nil {
		return err
	}
	next := shallowCopy(old)
	if err := f(next); err != nil {
		if errors.Is(err, ErrUnchanged) {
			return nil
		}
		return err
	}
	if g := next.GetDeletionGracePeriodSeconds(); next.GetDeletionTimestamp() != nil && (g == nil || *g == 0) && len(next.GetFinalizers()) == 0 {
		s.removeAt(k, i)
		return nil
	}
	if s.DropsUpdate != nil && s.DropsUpdate(Change{Kind: k, Old: old, New: next}) {
		return nil
	}
	s.setResourceVersion(next)
	t.objects[i] = next
	s.OnCommit(Change{Revision: s.revision, Kind: k, Old: old, New: next})
	return nil
}

// ErrUnchanged is returned by an update function if no change is needed.
var ErrUnchanged = errors.New("nothing to change")

// Check returns a conflict if an object does not meet the precondition.
func (p Precondition) Check(k Kind, o Object) error {
	switch {
	case p.UID != "" && p.UID != string(o.GetUID()):
		return apierrors.NewConflict(groupResource(k), o.GetName(), fmt.Errorf("the uid is %s and not %s", o.GetUID(), p.UID))
	case p.ResourceVersion != "" && p.ResourceVersion != o.GetResourceVersion():
		return apierrors.NewConflict(groupResource(k), o.GetName(), errors.New("the object has been modified"))
	}
	return nil
}

// Delete deletes an object at once, or sets its deletion timestamp if it has finalizers. Before that it adds the given
// finalizers. Use DeletePod for pods.
func (s *Store) Delete(k Kind, key string, pre Precondition, finalizers ...string) error {
	t := s.tables[k]
	i, ok := t.find(key)
	if !ok {
		return apierrors.NewNotFound(groupResource(k), key)
	}
	if err := pre.Check(k, t.objects[i]); err != nil {
		return err
	}
	if len(finalizers)+len(t.objects[i].GetFinalizers()) == 0 {
		s.removeAt(k, i)
		return nil
	}
	return s.Update(k, key, pre, func(o Object) error {
		if o.GetDeletionTimestamp() != nil {
			return ErrUnchanged
		}
		now := metav1.NewTime(s.now())
		o.SetDeletionTimestamp(&now)
		o.SetFinalizers(append(slices.Clip(o.GetFinalizers()), finalizers...))
		return nil
	})
}

func (s *Store) removeAt(k Kind, i int) {
	t := s.tables[k]
	old := t.objects[i]
	s.revision++
	t.keys = slices.Delete(t.keys, i, i+1)
	t.objects = slices.Delete(t.objects, i, i+1)
	s.OnCommit(Change{Revision: s.revision, Kind: k, Old: old})
}

func (s *Store) setResourceVersion(o Object) {
	s.revision++
	o.SetResourceVersion(strconv.FormatUint(s.revision, 10))
}

func (t *table) find(key string) (int, bool) {
	return slices.BinarySearchFunc(t.keys, key, cmp.Compare)
}

func groupResource(k Kind) schema.GroupResource { return schema.GroupResource{Resource: string(k)} }
