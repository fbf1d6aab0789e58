package agent

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/berthproject/berth/engine/podlifecycle"
	"github.com/berthproject/berth/internal/conversion"
)

// agentPod is a pod on its node.
type agentPod struct {
	object    *corev1.Pod // as last observed
	lifecycle *podlifecycle.Machine
	wakeSeq   int  // invalidates earlier wake-ups
	deleted   bool // the lifecycle has ended: the pod is deleted from the API
	writing   bool // a status write is in flight
	dirty     bool // the status may have changed since that write
	podUsage
}

// observePod handles a changed pod of a node.
func (a *Agents) observePod(object *corev1.Pod, deleted bool) {
	if a.partitioned[object.Spec.NodeName] {
		return
	}
	if a.stopped[object.Spec.NodeName] {
		if deleted {
			a.containers.removePod(object)
		}
		return
	}
	p := a.pods[object.UID]
	if deleted {
		a.containers.removePod(object)
		delete(a.pods, object.UID)
		return
	}
	if p == nil {
		if rejected := a.rejectionOf(object); rejected != nil {
			a.rejectPod(object, rejected)
			return
		}
		p = a.newPod(object)
		a.pods[object.UID] = p
		a.admission.addPod(p)
	}
	if !isOlder(object, p.object) {
		p.object = object
	}
	var events []podlifecycle.Event
	if object.DeletionTimestamp != nil {
		grace := max(object.DeletionTimestamp.Sub(a.w.Now()), 0)
		events = append(events, podlifecycle.Delete{Grace: grace})
	}
	a.step(p, events...)
	a.nodePressures.addPod(p)
}

// isOlder reports whether a was written before b.
func isOlder(a, b *corev1.Pod) bool {
	return len(a.ResourceVersion) < len(b.ResourceVersion) || len(a.ResourceVersion) == len(b.ResourceVersion) && a.ResourceVersion < b.ResourceVersion
}

// newPod starts the lifecycle of a pod, or resumes it from its status.
func (a *Agents) newPod(object *corev1.Pod) *agentPod {
	spec := conversion.PodLifecycleSpec(&object.Spec).WithoutProbes() // simulated containers are always healthy
	previous := conversion.PodLifecycleStatuses(&object.Status)
	if len(previous) == 0 && object.Status.Phase != corev1.PodSucceeded && object.Status.Phase != corev1.PodFailed {
		return &agentPod{object: object, lifecycle: podlifecycle.New(spec)}
	}
	p := &agentPod{object: object, lifecycle: podlifecycle.Resume(spec, conversion.PodLifecyclePhase(object.Status.Phase), previous)}
	for _, s := range previous {
		if s.State == podlifecycle.ContainerRunning {
			a.containers.resume(object, s.Name)
		}
	}
	return p
}

// step runs a step of the pod's lifecycle.
func (a *Agents) step(p *agentPod, events ...podlifecycle.Event) {
	if p.deleted {
		return
	}
	effects, wake := p.lifecycle.Step(a.w.Now(), events...)
	for started := a.applyEffects(p, effects); len(started) > 0; started = a.applyEffects(p, effects) {
		effects, wake = p.lifecycle.Step(a.w.Now(), started...)
	}
	p.wakeSeq++
	if seq := p.wakeSeq; !wake.IsZero() {
		a.w.AtTime(wake, func() {
			if p.wakeSeq == seq && a.pods[p.object.UID] == p {
				a.step(p)
			}
		})
	}
	a.writeStatus(p)
}

// applyEffects executes the effects of a lifecycle and returns the containers that started at
// once.
func (a *Agents) applyEffects(p *agentPod, effects []podlifecycle.Effect) (started []podlifecycle.Event) {
	for _, e := range effects {
		switch e := e.(type) {
		case podlifecycle.Start:
			if a.containers.start(p.object, e.Container) {
				started = append(started, podlifecycle.Started{Container: e.Container})
			}
		case podlifecycle.RunPreStop:
			a.containers.preStop(p.object, e.Container)
		case podlifecycle.Stop:
			a.containers.stop(p.object, e.Container)
		case podlifecycle.Kill:
			a.containers.end(p.object, e.Container, codeKill)
		case podlifecycle.PodRemoved:
			p.deleted = true
		}
	}
	return started
}
