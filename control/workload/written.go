package workload

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// overdue is how long the cache may be behind before the API server is asked.
const overdue = 10 * time.Second

// written is what a loop wrote and its cache does not show yet.
type written struct {
	mu sync.Mutex
	// made by namespace and name: a pod whose create was answered, or whose answer was lost.
	made map[types.NamespacedName]made
	// gone by uid: pods whose deletion was answered.
	gone map[types.UID]gone
}

type made struct {
	pod   *corev1.Pod
	owner types.UID
	at    time.Time
}

type gone struct {
	name  types.NamespacedName
	owner types.UID
	at    time.Time
}

func newWritten() *written {
	return &written{made: map[types.NamespacedName]made{}, gone: map[types.UID]gone{}}
}

// seen forgets what the cache now shows.
func (w *written) seen(p *corev1.Pod, leaves bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	name := types.NamespacedName{Namespace: p.Namespace, Name: p.Name}
	if m, ok := w.made[name]; ok && (m.pod.UID == "" && !leaves || m.pod.UID == p.UID) {
		delete(w.made, name) // not by the last word on another pod of that name
	}
	if leaves {
		delete(w.gone, p.UID)
	}
}

func (w *written) create(owner types.UID, p *corev1.Pod) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.made[types.NamespacedName{Namespace: p.Namespace, Name: p.Name}] = made{p, owner, time.Now()}
}

// created notes the answer to a create, unless the cache has shown the pod already.
func (w *written) created(p *corev1.Pod) {
	w.mu.Lock()
	defer w.mu.Unlock()
	name := types.NamespacedName{Namespace: p.Namespace, Name: p.Name}
	if m, ok := w.made[name]; ok {
		w.made[name] = made{p, m.owner, m.at}
	}
}

func (w *written) uncreate(name types.NamespacedName) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.made, name)
}

func (w *written) delete(owner types.UID, p *corev1.Pod) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.gone[p.UID] = gone{types.NamespacedName{Namespace: p.Namespace, Name: p.Name}, owner, time.Now()}
}

func (w *written) undelete(uid types.UID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.gone, uid)
}

// over is the owner's pods of the cache, corrected by what was written.
func (w *written) over(owner types.UID, pods []*corev1.Pod) []*corev1.Pod {
	w.mu.Lock()
	defer w.mu.Unlock()
	there := make(map[types.NamespacedName]bool, len(pods))
	for i, p := range pods {
		there[types.NamespacedName{Namespace: p.Namespace, Name: p.Name}] = true
		if g, ok := w.gone[p.UID]; ok && p.DeletionTimestamp == nil {
			leaving := *p
			leaving.DeletionTimestamp = &metav1.Time{Time: g.at}
			pods[i] = &leaving
		}
	}
	for name, m := range w.made {
		if m.owner == owner && !there[name] {
			pods = append(pods, m.pod)
		}
	}
	return pods
}

// Pending says that something written for an owner is not in the cache yet, so that it must be looked
// at again after Overdue even if nothing happens.
func (p *Pods) Pending(owner types.UID) (again time.Duration) {
	p.written.mu.Lock()
	defer p.written.mu.Unlock()
	for _, m := range p.written.made {
		if m.owner == owner {
			return overdue
		}
	}
	for _, g := range p.written.gone {
		if g.owner == owner {
			return overdue
		}
	}
	return 0
}

// Settle asks the API server what became of what was written long ago for an owner. It is to
// be called before Claim.
func (p *Pods) Settle(ctx context.Context, owner types.UID) error {
	made, gone := p.written.old(owner, time.Now().Add(-overdue))
	for _, name := range made {
		if _, err := p.live(ctx, name); apierrors.IsNotFound(err) {
			p.written.uncreate(name)
		} else if err != nil {
			return err
		}
	}
	for uid, name := range gone {
		pod, err := p.live(ctx, name)
		switch {
		case apierrors.IsNotFound(err) || err == nil && pod.UID != uid:
			// It is gone indeed; the cache will know, or has forgotten it already.
			if _, there, _ := p.informer.GetIndexer().GetByKey(name.String()); !there {
				p.written.undelete(uid)
			}
		case err != nil:
			return err
		case pod.DeletionTimestamp == nil:
			p.written.undelete(uid)
		}
	}
	return nil
}

// live asks the API server for a pod.
func (p *Pods) live(ctx context.Context, name types.NamespacedName) (*corev1.Pod, error) {
	return p.client.CoreV1().Pods(name.Namespace).Get(ctx, name.Name, metav1.GetOptions{})
}

func (w *written) old(owner types.UID, before time.Time) (made []types.NamespacedName, gone map[types.UID]types.NamespacedName) {
	w.mu.Lock()
	defer w.mu.Unlock()
	gone = map[types.UID]types.NamespacedName{}
	for name, m := range w.made {
		if m.owner == owner && m.at.Before(before) {
			made = append(made, name)
		}
	}
	for uid, g := range w.gone {
		if g.owner == owner && g.at.Before(before) {
			gone[uid] = g.name
		}
	}
	return made, gone
}
