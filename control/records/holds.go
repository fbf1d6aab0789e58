package records

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"

	"github.com/berthproject/berth/api/v1alpha1"
	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/displace"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/internal/journal"
)

// holdStore is where Holds are. An object that is not there is an API error NotFound.
type holdStore interface {
	Served() (bool, error)
	List(ctx context.Context) ([]v1alpha1.Hold, error)
	Get(ctx context.Context, namespace, name string) (*v1alpha1.Hold, error)
	Create(ctx context.Context, h *v1alpha1.Hold) error
	Update(ctx context.Context, h *v1alpha1.Hold) error
	// Delete deletes a Hold as it was read, and no later one.
	Delete(ctx context.Context, h *v1alpha1.Hold) error
}

// client is the holdStore of an API.
type client struct {
	holds     *v1alpha1.Client
	discovery discovery.DiscoveryInterface
	served    atomic.Bool // once they are, they stay so
}

func (c *client) Served() (bool, error) {
	if c.served.Load() {
		return true, nil
	}
	list, err := c.discovery.ServerResourcesForGroupVersion(v1alpha1.GroupVersion.String())
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	served := slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool { return r.Name == v1alpha1.Holds })
	c.served.Store(served)
	return served, nil
}

func (c *client) List(ctx context.Context) ([]v1alpha1.Hold, error) {
	list, err := c.holds.Holds("").List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

func (c *client) Get(ctx context.Context, namespace, name string) (*v1alpha1.Hold, error) {
	return c.holds.Holds(namespace).Get(ctx, name, metav1.GetOptions{})
}

func (c *client) Create(ctx context.Context, h *v1alpha1.Hold) error {
	_, err := c.holds.Holds(h.Namespace).Create(ctx, h, metav1.CreateOptions{})
	return err
}

func (c *client) Update(ctx context.Context, h *v1alpha1.Hold) error {
	_, err := c.holds.Holds(h.Namespace).Update(ctx, h, metav1.UpdateOptions{})
	return err
}

func (c *client) Delete(ctx context.Context, h *v1alpha1.Hold) error {
	return c.holds.Holds(h.Namespace).Delete(ctx, h.Name, metav1.DeleteOptions{
		Preconditions: &metav1.Preconditions{UID: &h.UID, ResourceVersion: &h.ResourceVersion}})
}

// place is a node that an owner's pods may have to stay off.
type place struct{ namespace, owner, node string }

// String is the place in the index.
func (p place) String() string { return p.namespace + "/" + p.owner + "/" + p.node }

func (e *entry) place() place {
	return place{e.rec.Pod.Namespace, e.rec.Owner.UID, e.rec.Node}
}

func causeOf(d *journal.Displacement) (displace.Cause, bool) { return displace.CauseOf(d.Cause) }

// toAvoid has a place looked at, now and whenever its node changes.
func (k *keeper) toAvoid(p place) {
	k.mu.Lock()
	if k.places[p.node] == nil {
		k.places[p.node] = map[place]bool{}
	}
	k.places[p.node][p] = true
	k.mu.Unlock()
	k.avoids.Add(p)
}

// over forgets a place that nothing keeps anybody off.
func (k *keeper) over(p place) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.places[p.node], p)
	if len(k.places[p.node]) == 0 {
		delete(k.places, p.node)
	}
}

// avoid makes, changes or ends the Avoid Hold of a place.
func (k *keeper) avoid(ctx context.Context, p place) (time.Duration, error) {
	served, err := k.holds.Served()
	if err != nil {
		return 0, err
	}
	var have *v1alpha1.Hold
	if served {
		have, err = k.holds.Get(ctx, p.namespace, cluster.HoldName(p.owner, p.node, model.Avoid))
		if apierrors.IsNotFound(err) {
			have, err = nil, nil
		}
		if err != nil {
			return 0, err
		}
	}
	w, err := k.wanted(p, have)
	if err != nil {
		return 0, err
	}
	left := w.last.Sub(k.now())
	switch {
	case !served && left > 0:
		return min(left, sweepEvery), nil // it may be served by then
	case w.hold != nil && have == nil && !k.vouched(w.hold):
		return min(left, k.gather), nil // it may be seen by then
	case w.hold != nil:
		err = k.put(ctx, w.hold, have)
	case !w.as:
		err = k.end(ctx, have)
	}
	if left <= 0 {
		k.over(p)
		return 0, err
	}
	return left + time.Millisecond, err // a node may yet say otherwise until then
}

// want is what there should be at a place.
type want struct {
	hold *v1alpha1.Hold // nil: none
	as   bool           // as it is: nobody knows better than the Hold
	last time.Time      // from when on nothing can be wanted any more
}

// wanted works out what there should be at a place. Have is the Hold that there is, nil if there is none.
func (k *keeper) wanted(p place, have *v1alpha1.Hold) (w want, err error) {
	found, err := k.records.ByIndex(byPlace, p.String())
	if err != nil || k.o.Backoff.First <= 0 {
		return w, err
	}
	node, err := k.nodes.Get(p.node)
	if apierrors.IsNotFound(err) {
		return w, nil // nobody goes there any more
	}
	if err != nil {
		return w, err
	}
	if len(found) == 0 && have != nil && ours(have) {
		if have.Spec.Until.After(k.now().Add(k.o.Backoff.Most + time.Second)) {
			return w, nil // no record can have asked for that
		}
		c, _ := displace.CauseOf(have.Spec.Cause)
		return want{as: !over(c, have.CreationTimestamp.Time, node), last: have.Spec.Until.Time}, nil
	}
	byUID := map[string]*journal.Displacement{}
	var list []displace.Thrown
	for _, o := range found {
		rec := o.(*entry).rec
		c, _ := causeOf(rec)
		t := displace.Thrown{UID: rec.Pod.UID, Cause: c, At: rec.Time}
		if rec.Pod.Created != nil {
			t.Created = *rec.Pod.Created
		}
		list, byUID[t.UID] = append(list, t), rec
	}
	a, _ := k.o.Backoff.Avoid(list)
	w.last = a.Until
	last := list
	list = slices.DeleteFunc(slices.Clone(list), func(t displace.Thrown) bool { return over(t.Cause, latest(last, t.Cause), node) })
	if a, ok := k.o.Backoff.Avoid(list); ok && a.Until.After(k.now()) {
		w.hold = holdOf(p, a, byUID[a.UID])
	}
	return w, nil
}

// latest is when the last pod was thrown out for a cause.
func latest(list []displace.Thrown, c displace.Cause) (at time.Time) {
	for _, t := range list {
		if t.Cause == c && t.At.After(at) {
			at = t.At
		}
	}
	return at
}

// holdOf is the Hold of a place, but for what only the owner's pods tell of it.
func holdOf(p place, a displace.Avoidance, from *journal.Displacement) *v1alpha1.Hold {
	return &v1alpha1.Hold{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: cluster.HoldName(p.owner, p.node, model.Avoid), Labels: map[string]string{madeBy: component}},
		Spec: v1alpha1.HoldSpec{Type: v1alpha1.Avoid, Node: p.node, Cause: a.Cause.String(), Count: a.Count, Owner: v1alpha1.Owner{UID: types.UID(p.owner)},
			// The API keeps whole seconds; a Hold must not end before its time.
			Until:  metav1.NewTime(a.Until.Add(time.Second - 1).UTC().Truncate(time.Second)),
			Victim: &v1alpha1.Victim{Name: from.Pod.Name, UID: types.UID(from.Pod.UID), Priority: from.Pod.Priority}},
	}
}

// vouched has the pods of a Hold's owner say who that is, and says whether there is one. Else a record can be of an owner that there
// is not, and would make a Hold for nobody.
func (k *keeper) vouched(h *v1alpha1.Hold) bool {
	all, _ := k.pods.Pods(h.Namespace).List(labels.Everything())
	for _, p := range all {
		if c := metav1.GetControllerOfNoCopy(p); c != nil && c.UID == h.Spec.Owner.UID {
			h.Spec.Owner = v1alpha1.Owner{APIVersion: c.APIVersion, Kind: c.Kind, Name: c.Name, UID: c.UID}
			return true
		}
	}
	return false
}

// put makes a Hold what it should be. One of somebody else's that lasts longer stays.
func (k *keeper) put(ctx context.Context, want, have *v1alpha1.Hold) error {
	if have == nil {
		err := k.holds.Create(ctx, want)
		if apierrors.IsForbidden(err) && strings.Contains(err.Error(), "terminated") {
			return nil // the namespace goes
		}
		return err
	}
	foreign := !ours(have) && have.Spec.Until.After(want.Spec.Until.Time)
	same := have.Spec.Cause == want.Spec.Cause && have.Spec.Count == want.Spec.Count && have.Spec.Until.Equal(&want.Spec.Until)
	if foreign || same {
		return nil
	}
	next := have.DeepCopy()
	next.Labels, next.Spec = want.Labels, want.Spec
	next.Spec.Owner = have.Spec.Owner
	return k.holds.Update(ctx, next)
}

// madeBy is the label of Holds that this loop has made.
const madeBy = "berth.dev/made-by"

// ours says whether a Hold is one that this loop has made. Those that people or others make are theirs
// until their time is over.
func ours(h *v1alpha1.Hold) bool { return h.Labels[madeBy] == component }

// end deletes a Hold of ours; nil stands for one that is not there.
func (k *keeper) end(ctx context.Context, h *v1alpha1.Hold) error {
	if h == nil || !ours(h) {
		return nil
	}
	err := k.holds.Delete(ctx, h)
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
