package displacementrecords

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes"

	"github.com/berthproject/berth/api/v1alpha1"
	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/displacement"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/executor"
	"github.com/berthproject/berth/internal/apierror"
	"github.com/berthproject/berth/internal/journal"
)

// holdStore reads and writes Holds. A missing object is an API error NotFound.
type holdStore interface {
	// Served reports whether the API server serves Holds.
	Served() (bool, error)
	List(ctx context.Context) ([]v1alpha1.Hold, error)
	Get(ctx context.Context, namespace, name string) (*v1alpha1.Hold, error)
	Create(ctx context.Context, h *v1alpha1.Hold) error
	Update(ctx context.Context, h *v1alpha1.Hold) error
	// Delete deletes a Hold with its UID and resource version as preconditions.
	Delete(ctx context.Context, h *v1alpha1.Hold) error
}

// apiHoldStore is the holdStore of an API server.
type apiHoldStore struct {
	holds     v1alpha1.Client
	discovery discovery.DiscoveryInterface
	served    atomic.Bool // never reset
}

// newHoldStore returns a holdStore that uses the API server, or nil if Holds are disabled.
func newHoldStore(client kubernetes.Interface, o Options) holdStore {
	if o.Holds == nil {
		return nil
	}
	return &apiHoldStore{holds: o.Holds, discovery: client.Discovery()}
}

func (s *apiHoldStore) Served() (bool, error) {
	if s.served.Load() {
		return true, nil
	}
	list, err := s.discovery.ServerResourcesForGroupVersion(v1alpha1.GroupVersion.String())
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	served := slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool { return r.Name == v1alpha1.HoldsResource })
	s.served.Store(served)
	return served, nil
}

func (s *apiHoldStore) List(ctx context.Context) ([]v1alpha1.Hold, error) {
	list, err := s.holds.Holds("").List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

func (s *apiHoldStore) Get(ctx context.Context, namespace, name string) (*v1alpha1.Hold, error) {
	return s.holds.Holds(namespace).Get(ctx, name, metav1.GetOptions{})
}

func (s *apiHoldStore) Create(ctx context.Context, h *v1alpha1.Hold) error {
	_, err := s.holds.Holds(h.Namespace).Create(ctx, h, metav1.CreateOptions{})
	return err
}

func (s *apiHoldStore) Update(ctx context.Context, h *v1alpha1.Hold) error {
	_, err := s.holds.Holds(h.Namespace).Update(ctx, h, metav1.UpdateOptions{})
	return err
}

func (s *apiHoldStore) Delete(ctx context.Context, h *v1alpha1.Hold) error {
	return s.holds.Holds(h.Namespace).Delete(ctx, h.Name, metav1.DeleteOptions{
		Preconditions: &metav1.Preconditions{UID: &h.UID, ResourceVersion: &h.ResourceVersion}})
}

// ownerNode is a node that an owner's pods may have to avoid.
type ownerNode struct{ namespace, owner, node string }

// String returns the index key.
func (o ownerNode) String() string { return o.namespace + "/" + o.owner + "/" + o.node }

func (e *entry) ownerNode() ownerNode {
	return ownerNode{e.rec.Pod.Namespace, e.rec.Owner.UID, e.rec.Node}
}

func recordCause(d *journal.Displacement) (displacement.Cause, bool) {
	return displacement.ParseCause(d.Cause)
}

// enqueueOwnerNode enqueues an owner and node, now and whenever the node changes.
func (c *controller) enqueueOwnerNode(p ownerNode) {
	c.mu.Lock()
	if c.ownerNodes[p.node] == nil {
		c.ownerNodes[p.node] = map[ownerNode]bool{}
	}
	c.ownerNodes[p.node][p] = true
	c.mu.Unlock()
	c.holdQueue.Add(p)
}

// forgetOwnerNode removes an owner and node for which evictions no longer count.
func (c *controller) forgetOwnerNode(p ownerNode) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.ownerNodes[p.node], p)
	if len(c.ownerNodes[p.node]) == 0 {
		delete(c.ownerNodes, p.node)
	}
}

// reconcileHold creates, updates or deletes the Avoid Hold of an owner on a node. It returns the time until the next
// reconcile; 0 if none is needed.
func (c *controller) reconcileHold(ctx context.Context, p ownerNode) (time.Duration, error) {
	served, err := c.holds.Served()
	if err != nil {
		return 0, err
	}
	var existing *v1alpha1.Hold
	if served {
		existing, err = c.holds.Get(ctx, p.namespace, cluster.HoldName(p.owner, p.node, model.Avoid))
		if apierrors.IsNotFound(err) {
			existing, err = nil, nil
		}
		if err != nil {
			return 0, err
		}
	}
	desired, err := c.desiredHoldOf(p, existing)
	if err != nil {
		return 0, err
	}
	remaining := desired.expires.Sub(c.now())
	switch {
	case !served && remaining > 0:
		return min(remaining, resyncInterval), nil // Holds may be served by then
	case desired.hold != nil && existing == nil && !c.resolveOwner(desired.hold):
		return min(remaining, c.batchDelay), nil // a pod of the owner may be observed by then
	case desired.hold != nil:
		err = c.applyHold(ctx, desired.hold, existing)
	case !desired.keep:
		err = c.deleteHold(ctx, existing)
	}
	if remaining <= 0 {
		c.forgetOwnerNode(p)
		return 0, err
	}
	return remaining + time.Millisecond, err // until then, changes of the node enqueue p, too
}

// desiredHold is the desired state of the Avoid Hold of an owner on a node.
type desiredHold struct {
	hold    *v1alpha1.Hold // nil: no Hold
	keep    bool           // leave the existing Hold unchanged
	expires time.Time      // when the Hold is no longer needed
}

// desiredHoldOf computes the desired state. existing is the Hold in the API, or nil.
func (c *controller) desiredHoldOf(p ownerNode, existing *v1alpha1.Hold) (d desiredHold, err error) {
	entries, err := c.records.ByIndex(byOwnerNode, p.String())
	if err != nil || c.o.Backoff.First <= 0 {
		return d, err
	}
	node, err := c.nodes.Get(p.node)
	if apierrors.IsNotFound(err) {
		return d, nil // the node was deleted
	}
	if err != nil {
		return d, err
	}
	if len(entries) == 0 && existing != nil && isManaged(existing) {
		if existing.Spec.Until.After(c.now().Add(c.o.Backoff.Max + time.Second)) {
			return d, nil // no record can justify that duration
		}
		cause, _ := displacement.ParseCause(existing.Spec.Cause)
		return desiredHold{keep: !causeEnded(cause, existing.CreationTimestamp.Time, node), expires: existing.Spec.Until.Time}, nil
	}
	byUID := map[string]*journal.Displacement{}
	var list []displacement.Eviction
	for _, o := range entries {
		rec := o.(*entry).rec
		cause, _ := recordCause(rec)
		e := displacement.Eviction{UID: rec.Pod.UID, Cause: cause.AvoidCause(rec.Message), At: rec.Time}
		if rec.Pod.Created != nil {
			e.Created = *rec.Pod.Created
		}
		list, byUID[e.UID] = append(list, e), rec
	}
	a, _ := c.o.Backoff.Avoid(list)
	d.expires = a.Until
	all := list
	list = slices.DeleteFunc(slices.Clone(list), func(e displacement.Eviction) bool { return causeEnded(e.Cause, latestEviction(all, e.Cause), node) })
	if a, ok := c.o.Backoff.Avoid(list); ok && a.Until.After(c.now()) {
		d.hold = newHold(p, a, byUID[a.UID])
	}
	return d, nil
}

// latestEviction returns when the last pod was evicted for a cause.
func latestEviction(list []displacement.Eviction, c displacement.Cause) (at time.Time) {
	for _, e := range list {
		if e.Cause == c && e.At.After(at) {
			at = e.At
		}
	}
	return at
}

// newHold returns the Hold of an owner and node, without the owner's name and kind.
func newHold(p ownerNode, a displacement.Avoidance, rec *journal.Displacement) *v1alpha1.Hold {
	return &v1alpha1.Hold{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: cluster.HoldName(p.owner, p.node, model.Avoid), Labels: map[string]string{executor.HoldCreatorLabel: component}},
		Spec: v1alpha1.HoldSpec{Type: v1alpha1.Avoid, Node: p.node, Cause: a.Cause.String(), Count: a.Count, Owner: v1alpha1.Owner{UID: types.UID(p.owner)},
			// The API stores whole seconds; the end is rounded up.
			Until:  metav1.NewTime(a.Until.Add(time.Second - 1).UTC().Truncate(time.Second)),
			Victim: &v1alpha1.Victim{Name: rec.Pod.Name, UID: types.UID(rec.Pod.UID), Priority: rec.Pod.Priority}},
	}
}

// resolveOwner completes the owner of a Hold from the owner's pods and reports whether such a pod exists. A forged
// record could otherwise create a Hold for an owner that does not exist.
func (c *controller) resolveOwner(h *v1alpha1.Hold) bool {
	all, _ := c.pods.Pods(h.Namespace).List(labels.Everything())
	for _, p := range all {
		if ref := metav1.GetControllerOfNoCopy(p); ref != nil && ref.UID == h.Spec.Owner.UID {
			h.Spec.Owner = v1alpha1.Owner{APIVersion: ref.APIVersion, Kind: ref.Kind, Name: ref.Name, UID: ref.UID}
			return true
		}
	}
	return false
}

// applyHold creates or updates a Hold. It keeps a Hold of another creator that lasts longer.
func (c *controller) applyHold(ctx context.Context, want, existing *v1alpha1.Hold) error {
	if existing == nil {
		err := c.holds.Create(ctx, want)
		if apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
			return nil
		}
		return err
	}
	otherCreator := !isManaged(existing) && existing.Spec.Until.After(want.Spec.Until.Time)
	same := existing.Spec.Cause == want.Spec.Cause && existing.Spec.Count == want.Spec.Count && existing.Spec.Until.Equal(&want.Spec.Until)
	if otherCreator || same {
		return nil
	}
	next := existing.DeepCopy()
	next.Labels, next.Spec = want.Labels, want.Spec
	next.Spec.Owner = existing.Spec.Owner
	return c.holds.Update(ctx, next)
}

// isManaged reports whether this controller created a Hold. Holds of other creators exist until they expire.
func isManaged(h *v1alpha1.Hold) bool { return h.Labels[executor.HoldCreatorLabel] == component }

// deleteHold deletes a Hold that this controller created. h may be nil.
func (c *controller) deleteHold(ctx context.Context, h *v1alpha1.Hold) error {
	if h == nil || !isManaged(h) {
		return nil
	}
	err := c.holds.Delete(ctx, h)
	return apierror.IgnoreNotFound(err)
}
