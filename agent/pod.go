package agent

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/agent/runtime"
	"github.com/berthproject/berth/engine/podlife"
	"github.com/berthproject/berth/internal/intake"
)

// pod is a pod of one of our nodes. Only the loop touches it.
type pod struct {
	object   *corev1.Pod // as seen last
	life     *podlife.Life
	address  string
	infos    map[string]*runtime.ContainerInfo
	released bool // the runtime holds nothing of it any more
	gone     bool // nothing runs any more: the object is to be deleted
	held     bool // nothing starts before its claims are bound
	dirty    bool // status is to be written
	writing  bool // a write is under way
	retryAt  time.Time
}

// changed takes in a new or changed pod.
func (a *Agent) changed(object *corev1.Pod) {
	p := a.pods[object.UID]
	known := p != nil
	if !known {
		p = a.admit(object)
		a.pods[object.UID] = p
	}
	p.object = object
	var events []podlife.Event
	if object.DeletionTimestamp != nil {
		events = append(events, podlife.Delete{Grace: grace(object, known)})
		a.release(p)
	}
	if !p.held {
		a.step(p, events...)
	}
}

// longestGrace is one, in seconds, above which it makes no difference.
const longestGrace = int64(100 * 365 * 24 * 3600)

// grace is what a pod that is deleted has left: all of it from when that is seen, whatever the API server's clock
// says; of a pod that was not known, what is left by its timestamp, which has whole seconds.
func grace(p *corev1.Pod, known bool) time.Duration {
	left := max(time.Until(p.DeletionTimestamp.Add(time.Second)), 0)
	if p.DeletionGracePeriodSeconds == nil {
		return left
	}
	all := time.Duration(min(*p.DeletionGracePeriodSeconds, longestGrace)) * time.Second
	if known {
		return all
	}
	return min(all, left)
}

// release ends the wait for claims: they are bound, or the pod is to go.
func (a *Agent) release(p *pod) {
	if p.held {
		p.held = false
		a.claims.drop(p.object.UID)
	}
}

// claimsBound starts a pod that has its claims now.
func (a *Agent) claimsBound(uid types.UID) {
	if p := a.pods[uid]; p != nil && p.held {
		a.release(p)
		a.step(p)
	}
}

// admit takes up a pod: a new life, or the one its status tells of.
func (a *Agent) admit(object *corev1.Pod) *pod {
	n := a.nodes[object.Spec.NodeName]
	p := &pod{object: object, address: n.addrs.take(n.want.Spec.PodCIDR, object)}
	was := intake.LifeStatuses(&object.Status)
	if len(was) == 0 {
		p.life = podlife.New(intake.LifeSpec(&object.Spec))
		if object.Status.Phase == corev1.PodSucceeded || object.Status.Phase == corev1.PodFailed {
			p.life = podlife.Resume(intake.LifeSpec(&object.Spec), intake.LifePhase(object.Status.Phase), nil)
		} else if claiming(object) && object.DeletionTimestamp == nil {
			p.held = true
			a.claims.add(object)
		}
		return p
	}
	p.life = podlife.Resume(intake.LifeSpec(&object.Spec), intake.LifePhase(object.Status.Phase), was)
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
		if p.dirty {
			a.dirty = append(a.dirty, p) // its end could not be written yet
		}
		return
	}
	effects, wake := p.life.Step(time.Now(), events...)
	for _, e := range effects {
		switch e := e.(type) {
		case podlife.Start:
			a.runtime.Start(p.object, e.Container, e.Attempt)
		case podlife.PreStop:
			a.runtime.PreStop(p.object, e.Container)
		case podlife.Stop:
			a.runtime.Stop(p.object.UID, e.Container)
		case podlife.Kill:
			a.runtime.Kill(p.object.UID, e.Container)
		case podlife.Probe:
			a.runtime.Probe(p.object, e.Container, e.Probe, e.Attempt)
		case podlife.Unprobe:
			a.runtime.Unprobe(p.object.UID, e.Container, e.Probe)
		case podlife.Over:
			a.nodes[p.object.Spec.NodeName].active.drop(p.object.UID)
			a.runtime.Release(p.object)
		case podlife.Gone:
			p.gone = true
		}
	}
	if !wake.IsZero() {
		a.timers.add(wake, p.object.UID)
	}
	p.dirty = true
	a.dirty = append(a.dirty, p)
}

func (a *Agent) reported(r runtime.Report) {
	p := a.pods[r.Pod]
	if p == nil {
		return
	}
	if r.Released {
		p.released, p.dirty = true, true
	}
	if len(r.Addresses) > 0 {
		p.address = r.Addresses[0]
	}
	if r.Container != nil {
		if p.infos == nil {
			p.infos = map[string]*runtime.ContainerInfo{}
		}
		p.infos[r.Container.Name] = r.Container
	}
	if r.Event == nil {
		a.step(p)
		return
	}
	a.step(p, r.Event)
}

// evict ends a pod for who watches its node.
func (a *Agent) evict(e Eviction) {
	p := a.pods[e.Pod]
	if p == nil {
		if e.Done != nil {
			e.Done()
		}
		return
	}
	a.step(p, podlife.Fail{Reason: e.Reason, Message: e.Message, Grace: e.Grace, Now: e.Now})
}

// vanished drops a pod whose object is gone, whatever still ran.
func (a *Agent) vanished(uid types.UID) {
	p := a.pods[uid]
	if p == nil {
		return
	}
	a.release(p)
	a.runtime.Forget(uid)
	a.nodes[p.object.Spec.NodeName].active.drop(uid)
	if n := a.nodes[p.object.Spec.NodeName]; n != nil {
		n.addrs.free(p.address)
	}
	delete(a.pods, uid)
}

// next takes the first changed pod whose status, or end, is to be written; nil
// when there is none. It is the writers who wait for it and not the loop for
// them: they tell the loop what came of a write.
func (a *Agent) next() *write {
	for len(a.dirty) > 0 {
		p := a.dirty[0]
		a.dirty = a.dirty[1:]
		if !p.dirty || p.writing || a.pods[p.object.UID] != p || time.Now().Before(p.retryAt) {
			continue
		}
		p.dirty = false
		object := p.object.DeepCopy()
		object.Status = status(p, a.nodes[p.object.Spec.NodeName])
		if same(&p.object.Status, &object.Status) {
			object = nil
		}
		if remove := p.gone && p.released; object != nil || remove {
			p.writing = true
			return &write{uid: p.object.UID, object: object, last: p.object, remove: remove}
		}
	}
	return nil
}
