package workload

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
)

// cacheLagTimeout is how long the cache may lag before the API server is queried.
const cacheLagTimeout = 10 * time.Second

// pendingWrites are the writes of a controller that its cache does not show yet.
type pendingWrites struct {
	clock clock.PassiveClock

	mu sync.Mutex
	// creates holds pods, by namespaced name, whose create is in flight, has succeeded, or has an
	// unknown result.
	creates map[types.NamespacedName]pendingCreate
	// deletes holds pods, by UID, whose deletion is in flight or was accepted.
	deletes map[types.UID]pendingDelete
}

type pendingCreate struct {
	pod   *corev1.Pod
	owner types.UID
	at    time.Time
}

type pendingDelete struct {
	name  types.NamespacedName
	owner types.UID
	at    time.Time
}

func newPendingWrites(c clock.PassiveClock) *pendingWrites {
	return &pendingWrites{clock: c, creates: map[types.NamespacedName]pendingCreate{}, deletes: map[types.UID]pendingDelete{}}
}

// observe removes the writes that the cache now shows.
func (w *pendingWrites) observe(p *corev1.Pod, deleted bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	name := types.NamespacedName{Namespace: p.Namespace, Name: p.Name}
	if c, ok := w.creates[name]; ok && (c.pod.UID == "" && !deleted || c.pod.UID == p.UID) {
		delete(w.creates, name) // the deletion of an earlier pod of this name does not count
	}
	if deleted {
		delete(w.deletes, p.UID)
	}
}

func (w *pendingWrites) expectCreate(owner types.UID, p *corev1.Pod) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.creates[types.NamespacedName{Namespace: p.Namespace, Name: p.Name}] = pendingCreate{p, owner, w.clock.Now()}
}

// confirmCreate records the response of a create, unless the cache shows the pod already.
func (w *pendingWrites) confirmCreate(p *corev1.Pod) {
	w.mu.Lock()
	defer w.mu.Unlock()
	name := types.NamespacedName{Namespace: p.Namespace, Name: p.Name}
	if c, ok := w.creates[name]; ok {
		w.creates[name] = pendingCreate{p, c.owner, c.at}
	}
}

func (w *pendingWrites) cancelCreate(name types.NamespacedName) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.creates, name)
}

func (w *pendingWrites) expectDelete(owner types.UID, p *corev1.Pod) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.deletes[p.UID] = pendingDelete{types.NamespacedName{Namespace: p.Namespace, Name: p.Name}, owner, w.clock.Now()}
}

func (w *pendingWrites) cancelDelete(uid types.UID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.deletes, uid)
}

// overlay applies the pending writes to the owner's pods in the cache. Pods that the cache does not show follow,
// sorted by name.
func (w *pendingWrites) overlay(owner types.UID, pods []*corev1.Pod) []*corev1.Pod {
	w.mu.Lock()
	defer w.mu.Unlock()
	existing := make(map[types.NamespacedName]bool, len(pods))
	for i, p := range pods {
		existing[types.NamespacedName{Namespace: p.Namespace, Name: p.Name}] = true
		if d, ok := w.deletes[p.UID]; ok && p.DeletionTimestamp == nil {
			deleting := *p
			deleting.DeletionTimestamp = &metav1.Time{Time: d.at}
			pods[i] = &deleting
		}
	}
	shown := len(pods)
	for name, c := range w.creates {
		if c.owner == owner && !existing[name] {
			pods = append(pods, c.pod)
		}
	}
	slices.SortFunc(pods[shown:], func(a, b *corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	return pods
}

// RequeueAfter returns the delay after which an owner must be reconciled again because a write is pending, or 0.
func (p *Pods) RequeueAfter(owner types.UID) (requeueAfter time.Duration) {
	p.pending.mu.Lock()
	defer p.pending.mu.Unlock()
	for _, c := range p.pending.creates {
		if c.owner == owner {
			return cacheLagTimeout
		}
	}
	for _, d := range p.pending.deletes {
		if d.owner == owner {
			return cacheLagTimeout
		}
	}
	return 0
}

// VerifyOverdue queries the API server about writes of an owner that have been pending for too long. It must
// be called before Claim.
func (p *Pods) VerifyOverdue(ctx context.Context, owner types.UID) error {
	creates, deletes := p.pending.olderThan(owner, p.env.Now().Add(-cacheLagTimeout))
	for _, name := range creates {
		if _, err := p.getLive(ctx, name); apierrors.IsNotFound(err) {
			p.pending.cancelCreate(name)
		} else if err != nil {
			return err
		}
	}
	for _, d := range deletes {
		uid, name := d.uid, d.name
		pod, err := p.getLive(ctx, name)
		switch {
		case apierrors.IsNotFound(err) || err == nil && pod.UID != uid:
			// The pod is deleted. The cache will show this, or has done so already.
			if _, exists, _ := p.informer.GetIndexer().GetByKey(name.String()); !exists {
				p.pending.cancelDelete(uid)
			}
		case err != nil:
			return err
		case pod.DeletionTimestamp == nil:
			p.pending.cancelDelete(uid)
		}
	}
	return nil
}

// getLive reads a pod from the API server.
func (p *Pods) getLive(ctx context.Context, name types.NamespacedName) (*corev1.Pod, error) {
	return p.client.CoreV1().Pods(name.Namespace).Get(ctx, name.Name, metav1.GetOptions{})
}

// podID is the name and UID of a pod.
type podID struct {
	name types.NamespacedName
	uid  types.UID
}

// olderThan returns the writes of an owner that are pending since before a time, sorted by name.
func (w *pendingWrites) olderThan(owner types.UID, before time.Time) (creates []types.NamespacedName, deletes []podID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for name, c := range w.creates {
		if c.owner == owner && c.at.Before(before) {
			creates = append(creates, name)
		}
	}
	for uid, d := range w.deletes {
		if d.owner == owner && d.at.Before(before) {
			deletes = append(deletes, podID{d.name, uid})
		}
	}
	slices.SortFunc(creates, func(a, b types.NamespacedName) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(deletes, func(a, b podID) int { return cmp.Or(cmp.Compare(a.name.Name, b.name.Name), cmp.Compare(a.uid, b.uid)) })
	return creates, deletes
}
