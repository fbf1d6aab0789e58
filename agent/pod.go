package agent

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/berthproject/berth/agent/runtime"
	"github.com/berthproject/berth/engine/podlife"
	"github.com/berthproject/berth/internal/intake"
)

// pod is a pod of one of our nodes. Only the loop touches it.
type pod struct {
	object    *corev1.Pod // as seen last
	node      *node
	life      *podlife.Life
	addresses []string
	infos     map[string]*info
	condition *corev1.PodCondition // to be written when it has failed
	announced bool                 // the condition is to be written before
	done      []func()             // to be called when it is over
	waits     map[types.UID]bool   // pods that must end before it may be taken
	up        int                  // containers that run, as counted
	counted   bool                 // it has its room on the node
	refused   bool                 // it was never taken
	held      bool                 // nothing starts yet: it waits for its claims, for room, or for an answer
	unjudged  bool                 // it is held and may still be refused
	released  bool                 // the runtime holds nothing of it any more
	gone      bool                 // nothing runs any more: the object is to be deleted
	dirty     bool                 // status is to be written
	writing   bool                 // a write is under way
	retryAt   time.Time
	failed    int       // writes of its status, one after the other, that were refused
	wakes     time.Time // for when it has a timer, to be stepped
}

// info is what the runtime has told of a container.
type info struct {
	runtime.ContainerInfo
	before string // id of the container before
}

func (p *pod) note(c *runtime.ContainerInfo) {
	if p.infos == nil {
		p.infos = map[string]*info{}
	}
	next := &info{ContainerInfo: *c}
	if old := p.infos[c.Name]; old != nil {
		next.before = old.before
		if old.ID != c.ID {
			next.before = old.ID
		}
	}
	p.infos[c.Name] = next
}

// container is the state of one of its containers, nil when it has none of that name.
func (p *pod) container(name string) *podlife.Status {
	init, containers := p.life.Statuses()
	for _, list := range [...][]podlife.Status{containers, init} {
		if i := slices.IndexFunc(list, func(s podlife.Status) bool { return s.Name == name }); i >= 0 {
			return &list[i]
		}
	}
	return nil
}

// begun says that some container of it has run.
func (p *pod) begun() bool {
	init, containers := p.life.Statuses()
	return slices.ContainsFunc(slices.Concat(init, containers), func(s podlife.Status) bool { return s.State != podlife.Idle || s.Restarts > 0 })
}

// changed takes in a new or changed pod.
func (a *Agent) changed(object *corev1.Pod) {
	p := a.pods[object.UID]
	known := p != nil
	var events []podlife.Event
	switch {
	case !known:
		p = a.take(object)
		events = a.unfinished(p)
	case newer(p.object, object):
		return
	default:
		events = a.update(p, object)
	}
	if object.DeletionTimestamp != nil {
		events = append(events, podlife.Delete{Grace: grace(object, known)})
		a.release(p)
	}
	a.step(p, events...)
}

// update takes in a change of a pod.
func (a *Agent) update(p *pod, object *corev1.Pod) (events []podlife.Event) {
	was := p.object
	p.object = object
	if p.counted {
		p.node.active.put(object)
	}
	if p.refused || p.life.Over() {
		return nil
	}
	if !equality.Semantic.DeepEqual(was.Labels, object.Labels) || !equality.Semantic.DeepEqual(was.Annotations, object.Annotations) ||
		!equality.Semantic.DeepEqual(&was.Spec, &object.Spec) {
		a.runtime.Update(object)
	}
	if limit := object.Spec.ActiveDeadlineSeconds; !ptr.Equal(limit, was.Spec.ActiveDeadlineSeconds) {
		events = append(events, podlife.Limit{Deadline: intake.LifeSpec(&object.Spec).Deadline})
	}
	for _, cs := range [][2][]corev1.Container{{was.Spec.InitContainers, object.Spec.InitContainers}, {was.Spec.Containers, object.Spec.Containers}} {
		for i := range cs[1] {
			if i < len(cs[0]) && cs[0][i].Image != cs[1][i].Image {
				events = append(events, podlife.Replace{Container: cs[1][i].Name})
			}
		}
	}
	return events
}

// release ends the wait of a pod: it may start, or is to go.
func (a *Agent) release(p *pod) {
	if p.held {
		p.held, p.unjudged, p.waits = false, false, nil
		delete(a.waiting, p.object.UID)
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

// step asks the pod's life what to do and does it.
func (a *Agent) step(p *pod, events ...podlife.Event) {
	if p.held {
		if !p.unjudged {
			a.write(p)
		}
		return
	}
	if p.gone {
		if p.dirty {
			a.dirty = append(a.dirty, p) // its end could not be written yet
		}
		return
	}
	effects, wake := p.life.Step(time.Now(), events...)
	for _, e := range effects {
		a.carryOut(p, e)
	}
	for _, e := range events {
		a.tell(p, e)
	}
	a.recount(p)
	if !wake.IsZero() && !wake.Equal(p.wakes) { // what is asked for at each step is kept once
		p.wakes = wake
		a.timers.add(wake, p.object.UID)
	}
	a.write(p)
}

// recount counts the containers that run.
func (a *Agent) recount(p *pod) {
	if up := p.life.Up(); up != p.up {
		a.opts.Metrics.containers.WithLabelValues("running").Add(float64(up - p.up))
		p.up = up
	}
}

// write has the pod's status written, if that is news.
func (a *Agent) write(p *pod) {
	p.dirty = true
	a.dirty = append(a.dirty, p)
}

func (a *Agent) carryOut(p *pod, e podlife.Effect) {
	uid := p.object.UID
	switch e := e.(type) {
	case podlife.Start:
		a.opts.Metrics.starts(e.Attempt)
		a.runtime.Start(p.object, e.Container, e.Attempt)
	case podlife.PreStop:
		a.runtime.PreStop(p.object, e.Container)
	case podlife.Stop:
		if p.life.Ending() {
			a.opts.Events.Eventf(partOf(p.object, e.Container), corev1.EventTypeNormal, "Killing", "Stopping container %s", e.Container)
		}
		a.runtime.Stop(uid, e.Container)
	case podlife.Kill:
		a.runtime.Kill(uid, e.Container)
	case podlife.Probe:
		a.runtime.Probe(p.object, e.Container, e.Probe, e.Attempt)
	case podlife.Unprobe:
		a.runtime.Unprobe(uid, e.Container, e.Probe)
	case podlife.Over:
		a.over(p)
		a.runtime.Release(p.object)
	case podlife.Gone:
		p.gone = true
	}
}

// reported takes in what the runtime tells.
func (a *Agent) reported(r runtime.Report) {
	p := a.pods[r.Pod]
	if p == nil {
		return
	}
	if r.Released {
		p.released, p.dirty = true, true
	}
	if len(r.Addresses) > 0 {
		p.addresses = r.Addresses
	}
	if r.Container != nil {
		p.note(r.Container)
	}
	if r.Event == nil {
		a.step(p)
		return
	}
	a.step(p, r.Event)
}

// over frees what a pod has taken of its node.
func (a *Agent) over(p *pod) {
	a.uncount(p)
	for _, done := range p.done {
		done()
	}
	p.done = nil
	a.roomFor(p.object.UID)
	a.stopMore(p.node, string(p.object.UID))
}

// uncount takes its room from a pod.
func (a *Agent) uncount(p *pod) {
	if p.counted {
		p.counted = false
		a.state.RemovePod(string(p.object.UID))
		p.node.active.drop(p.object.UID)
		a.opts.Metrics.running.Dec()
	}
}

// vanished drops a pod whose object is gone, whatever still ran.
func (a *Agent) vanished(uid types.UID) {
	p := a.pods[uid]
	if p == nil {
		return
	}
	a.release(p)
	a.runtime.Forget(uid)
	a.over(p)
	a.opts.Metrics.containers.WithLabelValues("running").Sub(float64(p.up))
	if !p.node.real {
		for _, ip := range p.addresses {
			p.node.addrs.free(ip)
		}
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
		object.Status = status(p)
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
