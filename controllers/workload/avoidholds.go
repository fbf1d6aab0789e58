package workload

import (
	"context"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/berthproject/berth/api/v1alpha1"
	"github.com/berthproject/berth/controllers/runner"
	"github.com/berthproject/berth/controllers/workqueue"
)

// AvoidHolds tracks the nodes that owners' pods must avoid. A nil *AvoidHolds has none.
//
// It matters only for pods that no scheduler places, since the scheduler honors Holds for all others.
type AvoidHolds struct {
	backoffDisabled bool

	mu           sync.Mutex
	holds        map[ownerNode]map[string]*v1alpha1.Hold // by the name of the Hold
	endedEarlyAt map[ownerNode]time.Time
	listeners    []func(kind string, owner types.NamespacedName)
}

type ownerNode struct {
	owner types.UID
	node  string
}

// endedEarlyRetention is how long an early end of a Hold is recorded. It exceeds the longest backoff that an early end
// can shorten (MaxBackoff of engine/workload).
const endedEarlyRetention = 15 * time.Minute

// NewAvoidHolds returns an empty AvoidHolds. Call Run to fill it.
func NewAvoidHolds() *AvoidHolds {
	return &AvoidHolds{holds: map[ownerNode]map[string]*v1alpha1.Hold{}, endedEarlyAt: map[ownerNode]time.Time{}}
}

// OnChange registers a function that is called with the kind and the key of an owner whose Holds change. It must be
// called before Run.
func (a *AvoidHolds) OnChange(f func(kind string, owner types.NamespacedName)) {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.listeners = append(a.listeners, f)
}

// AvoidUntil returns until when an owner's pods must avoid a node, and the cause. The time is zero if they need not.
func (a *AvoidHolds) AvoidUntil(owner types.UID, node string, now time.Time) (until time.Time, cause string) {
	if a == nil {
		return time.Time{}, ""
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, h := range a.holds[ownerNode{owner, node}] {
		if t := h.Spec.Until.Time; t.After(now) && (t.After(until) || t.Equal(until) && h.Spec.Cause < cause) {
			until, cause = t, h.Spec.Cause
		}
	}
	return until, cause
}

// EndedEarlyAt returns when the last Hold of an owner on a node was deleted before its end, because its cause had ended.
// Earlier failures on the node are then ignored. It returns zero if there was no such Hold recently.
func (a *AvoidHolds) EndedEarlyAt(owner types.UID, node string) time.Time {
	if a == nil {
		return time.Time{}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.endedEarlyAt[ownerNode{owner, node}]
}

// onHold handles an added, updated or deleted Hold. cur is nil for a deleted one.
func (a *AvoidHolds) onHold(old, cur *v1alpha1.Hold, at time.Time) {
	a.mu.Lock()
	if old != nil && old.Spec.Type == v1alpha1.Avoid {
		key := ownerNode{old.Spec.Owner.UID, old.Spec.Node}
		if delete(a.holds[key], old.Name); len(a.holds[key]) == 0 {
			delete(a.holds, key)
		}
		if cur == nil && at.Before(old.Spec.Until.Time) && !a.hasActiveHold(key, at) {
			a.endedEarlyAt[key] = at
		}
	}
	if cur != nil && cur.Spec.Type == v1alpha1.Avoid {
		key := ownerNode{cur.Spec.Owner.UID, cur.Spec.Node}
		if a.holds[key] == nil {
			a.holds[key] = map[string]*v1alpha1.Hold{}
		}
		a.holds[key][cur.Name] = cur
	}
	for key, t := range a.endedEarlyAt {
		if at.Sub(t) > endedEarlyRetention {
			delete(a.endedEarlyAt, key)
		}
	}
	listeners := a.listeners
	a.mu.Unlock()
	h := cur
	if h == nil {
		h = old
	}
	for _, f := range listeners {
		f(h.Spec.Owner.Kind, types.NamespacedName{Namespace: h.Namespace, Name: h.Spec.Owner.Name})
	}
}

// hasActiveHold reports whether an unexpired Hold of an owner exists on a node. Expired Holds may remain as a record of
// failed moves. The caller must hold the lock.
func (a *AvoidHolds) hasActiveHold(key ownerNode, at time.Time) bool {
	for _, h := range a.holds[key] {
		if h.Spec.Until.After(at) {
			return true
		}
	}
	return false
}

// Run watches Holds until ctx is done. While the API does not serve Holds, it repeats discovery every
// minute.
func (a *AvoidHolds) Run(ctx context.Context, holds v1alpha1.Client, d discovery.DiscoveryInterface, env runner.Environment, log klog.Logger) error {
	logged := false
	for {
		_, err := d.ServerResourcesForGroupVersion(v1alpha1.GroupVersion.String())
		if err == nil {
			break
		}
		if !logged && apierrors.IsNotFound(err) {
			log.Info("Holds are not served; workloads with a node name in their template back off only after failures that they observe")
			logged = true
		}
		if !runner.Sleep(ctx, env, time.Minute) {
			return nil
		}
	}
	client := holds.Holds("")
	informer := cache.NewSharedIndexInformer(&cache.ListWatch{
		ListWithContextFunc:  func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return client.List(ctx, o) },
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) { return client.Watch(ctx, o) },
	}, &v1alpha1.Hold{}, 0, nil)
	if err := a.Watch(informer, env); err != nil {
		return err
	}
	informer.RunWithContext(ctx)
	return nil
}

// Watch tracks the Holds of an informer, which the caller runs.
func (a *AvoidHolds) Watch(informer cache.SharedInformer, c clock.PassiveClock) error {
	return workqueue.Watch(informer, func(old, cur *v1alpha1.Hold) { a.onHold(old, cur, c.Now()) })
}
