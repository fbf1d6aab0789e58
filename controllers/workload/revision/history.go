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

	"github.com/berthproject/berth/controllers/podtemplate"
	"github.com/berthproject/berth/controllers/workload"
)

// History reads and writes ControllerRevisions.
type History struct {
	client   kubernetes.Interface
	informer cache.SharedIndexInformer
}

// New reads revisions from the factory's cache, which the caller starts.
func New(client kubernetes.Interface, factory informers.SharedInformerFactory) (*History, error) {
	h := &History{client: client, informer: factory.Apps().V1().ControllerRevisions().Informer()}
	return h, workload.IndexByController(h.informer)
}

// HasSynced says that the cache is filled.
func (h *History) HasSynced() bool { return h.informer.HasSynced() }

// Watch tells the owners of a kind whose revisions change.
func (h *History) Watch(kind schema.GroupVersionKind, enqueue func(owner types.NamespacedName)) error {
	return workload.WatchControlled[*appsv1.ControllerRevision](h.informer, kind, enqueue, nil)
}

// Revisions are an owner's, in their order, the one of its present template last.
type Revisions struct {
	All []*appsv1.ControllerRevision
	// Collisions is the owner's count, which goes into its status; it grows when two templates have one hash.
	Collisions *int32
}

// Latest is the revision of the present template.
func (r *Revisions) Latest() *appsv1.ControllerRevision { return r.All[len(r.All)-1] }

// ByName finds a revision by its name; nil if there is none.
func (r *Revisions) ByName(name string) *appsv1.ControllerRevision {
	for _, rev := range r.All {
		if rev.Name == name {
			return rev
		}
	}
	return nil
}

// Sync claims an owner's revisions and sees to it that its present template t has the highest number. hashLabel names the
// label that carries the hash of a new one.
func (h *History) Sync(ctx context.Context, o *workload.Owner, t *corev1.PodTemplateSpec, hashLabel string, collisions *int32) (*Revisions, error) {
	namespace := o.Object.GetNamespace()
	all := workload.Controlled[*appsv1.ControllerRevision](h.informer, o.Object, true)
	own, err := workload.Claim(ctx, o, all, nil, func(ctx context.Context, name string, kind types.PatchType, data []byte) error {
		_, err := h.client.AppsV1().ControllerRevisions(namespace).Patch(ctx, name, kind, data, metav1.PatchOptions{})
		return err
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(own, func(a, b *appsv1.ControllerRevision) int {
		return cmp.Or(cmp.Compare(a.Revision, b.Revision), a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	next := int64(1)
	if len(own) > 0 {
		next = own[len(own)-1].Revision + 1
	}
	for i := len(own) - 1; i >= 0; i-- {
		if !podtemplate.RevisionMatches(own[i], t) {
			continue
		}
		rev := own[i]
		if i < len(own)-1 { // rolled back to it
			if rev, err = h.renumber(ctx, rev, next); err != nil {
				return nil, err
			}
			own = append(slices.Delete(own, i, i+1), rev)
		}
		return &Revisions{own, collisions}, nil
	}
	rev, collisions, err := h.create(ctx, o, t, hashLabel, next, collisions)
	if err != nil {
		return nil, err
	}
	own = slices.DeleteFunc(own, func(r *appsv1.ControllerRevision) bool { return r.UID == rev.UID })
	return &Revisions{append(own, rev), collisions}, nil
}

func (h *History) renumber(ctx context.Context, rev *appsv1.ControllerRevision, n int64) (*appsv1.ControllerRevision, error) {
	rev = rev.DeepCopy()
	rev.Revision = n
	return h.client.AppsV1().ControllerRevisions(rev.Namespace).Update(ctx, rev, metav1.UpdateOptions{})
}

// create writes the revision of a new template. One that is there already, though not in the
// cache yet, is taken; one of another template has the same hash, so another is tried.
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
				return nil, collisions, fmt.Errorf("controllerrevision %s/%s of %s %s is there, but belongs to another object: it goes with its owner", rev.Namespace, rev.Name, o.Kind.Kind, o.Object.GetName())
			}
			return existing, collisions, nil
		}
		more := int32(1)
		if collisions != nil {
			more += *collisions
		}
		collisions = &more
	}
}

// Truncate deletes the oldest revisions beyond limit (nil: 10), of which none that live says is in use, and not the present one.
func (h *History) Truncate(ctx context.Context, r *Revisions, live func(*appsv1.ControllerRevision) bool, limit *int32) error {
	keep := 10
	if limit != nil {
		keep = int(*limit)
	}
	var old []*appsv1.ControllerRevision
	for _, rev := range r.All[:len(r.All)-1] {
		if !live(rev) && rev.DeletionTimestamp == nil {
			old = append(old, rev)
		}
	}
	for _, rev := range old[:max(0, len(old)-keep)] {
		err := h.client.AppsV1().ControllerRevisions(rev.Namespace).Delete(ctx, rev.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &rev.UID}})
		if err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	return nil
}
