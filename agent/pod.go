package agent

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/agent/runtime"
	"github.com/berthproject/berth/engine/podlife"
)

// pod is a pod of one of our nodes. Only the loop touches it.
type pod struct {
	object   *corev1.Pod // as seen last
	life     *podlife.Life
	address  string
	deleting bool // podlife knows
	gone     bool // nothing runs any more: the object is to be deleted
	dirty    bool // status is to be written
	writing  bool // a write is under way
	retryAt  time.Time
}

// changed takes in a new or changed pod.
func (a *Agent) changed(object *corev1.Pod) {
	p := a.pods[object.UID]
	if p == nil {
		p = a.admit(object)
		a.pods[object.UID] = p
	}
	p.object = object
	var events []podlife.Event
	if object.DeletionTimestamp != nil {
		grace := max(time.Until(object.DeletionTimestamp.Time), 0)
		if object.DeletionGracePeriodSeconds != nil && *object.DeletionGracePeriodSeconds == 0 {
			grace = 0
		}
		events = append(events, podlife.Delete{Grace: grace})
	}
	a.step(p, events...)
}

// admit takes up a pod: a new life, or the one its status tells of.
func (a *Agent) admit(object *corev1.Pod) *pod {
	n := a.nodes[object.Spec.NodeName]
	p := &pod{object: object, address: n.addrs.take(n.want.Spec.PodCIDR, object)}
	was := lifeStatuses(&object.Status)
	if len(was) == 0 {
		p.life = podlife.New(lifeSpec(&object.Spec))
		if object.Status.Phase == corev1.PodSucceeded || object.Status.Phase == corev1.PodFailed {
			p.life = podlife.Resume(lifeSpec(&object.Spec), lifePhase(object.Status.Phase), nil)
		}
		return p
	}
	p.life = podlife.Resume(lifeSpec(&object.Spec), lifePhase(object.Status.Phase), was)
	for _, s := range was {
		if s.State == podlife.Up {
			a.runtime.Resume(object, s.Name, s)
		}
	}
	return p
}

// step asks the pod's life what to do and does it.
func (a *Agent) step(p *pod, events ...podlife.Event) {
	if p.gone {
		return
	}
	effects, wake := p.life.Step(time.Now(), events...)
	for _, e := range effects {
		switch e := e.(type) {
		case podlife.Start:
			a.runtime.Start(p.object, e.Container)
		case podlife.Stop:
			a.runtime.Stop(p.object.UID, e.Container)
		case podlife.Kill:
			a.runtime.Kill(p.object.UID, e.Container)
		case podlife.Gone:
			p.gone = true
			a.runtime.Forget(p.object.UID)
		}
	}
	if !wake.IsZero() {
		a.timers.add(wake, p.object.UID)
	}
	p.dirty = true
	a.dirty = append(a.dirty, p)
}

func (a *Agent) reported(r runtime.Report) {
	if p := a.pods[r.Pod]; p != nil {
		a.step(p, r.Event)
	}
}

// vanished drops a pod whose object is gone, whatever still ran.
func (a *Agent) vanished(uid types.UID) {
	p := a.pods[uid]
	if p == nil {
		return
	}
	a.runtime.Forget(uid)
	if n := a.nodes[p.object.Spec.NodeName]; n != nil {
		n.addrs.free(p.address)
	}
	delete(a.pods, uid)
}

// flush hands the status of changed pods to the writers.
func (a *Agent) flush(ctx context.Context) {
	dirty := a.dirty
	a.dirty = nil
	for _, p := range dirty {
		if !p.dirty || p.writing || a.pods[p.object.UID] != p || time.Now().Before(p.retryAt) {
			continue
		}
		w := write{uid: p.object.UID, remove: p.gone}
		next := p.object.DeepCopy()
		next.Status = status(p, a.nodes[p.object.Spec.NodeName])
		if same(&p.object.Status, &next.Status) {
			next = nil
		}
		p.dirty = false
		if w.object, w.last = next, p.object; next == nil && !w.remove {
			continue
		}
		p.writing = true
		select {
		case a.writes <- w:
		case <-ctx.Done():
			return
		}
	}
}
