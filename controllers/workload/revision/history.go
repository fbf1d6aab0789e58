package revision

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/lru"

	"github.com/berthproject/berth/controllers/podtemplate"
	"github.com/berthproject/berth/controllers/workload"
)

// History reads and writes ControllerRevisions.
type History struct {
	client   kubernetes.Interface
	informer cache.SharedIndexInformer
	current  *lru.Cache // the revision of the current template by owner UID, as currentRevision
}

// currentRevision is the revision of an owner's template. The data of a revision never changes. The template changes
// only with the owner's generation.
type currentRevision struct {
	generation int64
	revision   types.UID
}

// maxCurrentRevisions is the maximum number of owners whose templates are not compared again.
const maxCurrentRevisions = 4096

// New returns a History that reads revisions from factory's cache. The caller starts the factory.
func New(client kubernetes.Interface, factory informers.SharedInformerFactory) (*History, error) {
	h := &History{client: client, informer: factory.Apps().V1().ControllerRevisions().Informer(), current: lru.New(maxCurrentRevisions)}
	return h, workload.IndexByController(h.informer)
}

// HasSynced reports whether the cache has synced.
func (h *History) HasSynced() bool { return h.informer.HasSynced() }

// Watch enqueues the owners of a kind when their revisions change.
func (h *History) Watch(kind schema.GroupVersionKind, enqueue func(owner types.NamespacedName)) error {
	return workload.WatchControlled[*appsv1.ControllerRevision](h.informer, kind, enqueue, nil)
}

// Revisions are the revisions of an owner in order, that of its current template last.
type Revisions struct {
	All []*appsv1.ControllerRevision
	// Collisions is the owner's collision count for its status. It grows when two templates have the same hash.
	Collisions *int32
}

// Latest returns the revision of the current template.
func (r *Revisions) Latest() *appsv1.ControllerRevision { return r.All[len(r.All)-1] }

// ByName returns the revision with a name, or nil.
func (r *Revisions) ByName(name string) *appsv1.ControllerRevision {
	for _, rev := range r.All {
		if rev.Name == name {
			return rev
		}
	}
	return nil
}

// Sync claims an owner's revisions and ensures that the current template t has the revision with the highest number.
// hashLabel is the label for the hash of a new revision.
func (h *History) Sync(ctx context.Context, o *workload.Owner, t *corev1.PodTemplateSpec, hashLabel string, collisions *int32) (*Revisions, error) {
	namespace := o.Object.GetNamespace()
	all := workload.Controlled[*appsv1.ControllerRevision](h.informer, o.Object, true)
	claimed, err := workload.Claim(ctx, o, all, nil, func(ctx context.Context, name string, kind types.PatchType, data []byte) error {
		_, err := h.client.AppsV1().ControllerRevisions(namespace).Patch(ctx, name, kind, data, metav1.PatchOptions{})
		return err
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(claimed, func(a, b *appsv1.ControllerRevision) int {
		return cmp.Or(cmp.Compare(a.Revision, b.Revision), a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	next := int64(1)
	if len(claimed) > 0 {
		next = claimed[len(claimed)-1].Revision + 1
	}
	for i := len(claimed) - 1; i >= 0; i-- {
		if !h.matches(o.Object, claimed[i], t) {
			continue
		}
		rev := claimed[i]
		if i < len(claimed)-1 { // rolled back to this revision
			if rev, err = h.renumber(ctx, rev, next); err != nil {
				return nil, err
			}
			claimed = append(slices.Delete(claimed, i, i+1), rev)
		}
		return &Revisions{claimed, collisions}, nil
	}
	rev, collisions, err := h.create(ctx, o, t, hashLabel, next, collisions)
	if err != nil {
		return nil, err
	}
	claimed = slices.DeleteFunc(claimed, func(r *appsv1.ControllerRevision) bool { return r.UID == rev.UID })
	return &Revisions{append(claimed, rev), collisions}, nil
}

// matches reports whether a revision contains the current template of an owner.
func (h *History) matches(o metav1.Object, r *appsv1.ControllerRevision, t *corev1.PodTemplateSpec) bool {
	current := currentRevision{o.GetGeneration(), r.UID}
	if known, ok := h.current.Get(o.GetUID()); ok && known == any(current) && current.generation > 0 {
		return true
	}
	if !podtemplate.RevisionMatches(r, t) {
		return false
	}
	h.current.Add(o.GetUID(), current)
	return true
}

func (h *History) renumber(ctx context.Context, rev *appsv1.ControllerRevision, n int64) (*appsv1.ControllerRevision, error) {
	rev = rev.DeepCopy()
	rev.Revision = n
	return h.client.AppsV1().ControllerRevisions(rev.Namespace).Update(ctx, rev, metav1.UpdateOptions{})
}

// create creates the revision of a new template. If the name exists with the same template, which the cache may
// not show yet, that revision is used. If it exists with another template, the hash collides and create retries.
func (h *History) create(ctx context.Context, o *workload.Owner, t *corev1.PodTemplateSpec, hashLabel string, n int64, collisions *int32) (*appsv1.ControllerRevision, *int32, error) {
	for {
		rev, err := podtemplate.Revision(o.Object, o.Reference(), t, hashLabel, n, collisions)
		if err != nil {
			return nil, collisions, err
		}
		created, err := h.client.AppsV1().ControllerRevisions(rev.Namespace).Create(ctx, rev, metav1.CreateOptions{})
		if !apierrors.IsAlreadyExists(err) {
			return created, collisions, err
		}
		existing, err := h.client.AppsV1().ControllerRevisions(rev.Namespace).Get(ctx, rev.Name, metav1.GetOptions{})
		if err != nil {
			return nil, collisions, err
		}
		if podtemplate.RevisionMatches(existing, t) {
			if !metav1.IsControlledBy(existing, o.Object) {
				return nil, collisions, fmt.Errorf("controllerrevision %s/%s of %s %s already exists and belongs to another object", rev.Namespace, rev.Name, o.Kind.Kind, o.Object.GetName())
			}
			return existing, collisions, nil
		}
		next := int32(1)
		if collisions != nil {
			next += *collisions
		}
		collisions = &next
	}
}

// defaultLimit is the limit of revisions that the API defaults to.
const defaultLimit = 10

// Truncate deletes the oldest revisions beyond limit (nil: defaultLimit). The current revision and those for which inUse
// returns true do not count and are not deleted.
func (h *History) Truncate(ctx context.Context, r *Revisions, inUse func(*appsv1.ControllerRevision) bool, limit *int32) error {
	remaining := defaultLimit
	if limit != nil {
		remaining = int(*limit)
	}
	var old []*appsv1.ControllerRevision
	for _, rev := range r.All[:len(r.All)-1] {
		if !inUse(rev) && rev.DeletionTimestamp == nil {
			old = append(old, rev)
		}
	}
	for _, rev := range old[:max(0, len(old)-remaining)] {
		err := h.client.AppsV1().ControllerRevisions(rev.Namespace).Delete(ctx, rev.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &rev.UID}})
		if err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	return nil
}
