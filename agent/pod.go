package agent

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/berthproject/berth/agent/runtime"
	"github.com/berthproject/berth/engine/podlifecycle"
	"github.com/berthproject/berth/internal/conversion"
)

// pod is a pod bound to a node of this agent. Only the loop accesses it.
type pod struct {
	object            *corev1.Pod // as last observed
	node              *node
	lifecycle         *podlifecycle.Machine
	addresses         []string
	containerInfos    map[string]*containerInfo
	condition         *corev1.PodCondition // DisruptionTarget, written when the pod fails
	announceCondition bool                 // write condition before the pod terminates
	onTerminated      []func()             // called when the pod has terminated
	untilReleased     bool                 // the pod stays active, and onTerminated waits, until the runtime has released it
	pendingVictims    map[types.UID]bool   // pods that must terminate before admission is retried
	resize            podResize
	runningContainers int  // as last counted in the metrics
	reserved          bool // holds its resources on the node
	rejected          bool // failed admission
	blocked           bool // starts nothing: waits for claims, victims, or a read of the node
	admissionPending  bool // blocked, and may still be rejected
	runtimeReleased   bool // the runtime has released sandbox and volumes
	deletable         bool // nothing runs: the API object can be deleted
	statusDirty       bool // a status write is due
	writing           bool // a status write is in flight
	retryAt           time.Time
	writeFailures     int // consecutive failed status writes
	startTime         metav1.Time
	timerAt           time.Time // when the next timer fires; zero without one
}

// containerInfo is what the runtime reported about a container.
type containerInfo struct {
	runtime.ContainerInfo
	previousID string // ID of the previous instance
}

func (p *pod) setContainerInfo(c *runtime.ContainerInfo) {
	if p.containerInfos == nil {
		p.containerInfos = map[string]*containerInfo{}
	}
	next := &containerInfo{ContainerInfo: *c}
	if previous := p.containerInfos[c.Name]; previous != nil {
		next.previousID = previous.previousID
		if previous.ID != c.ID {
			next.previousID = previous.ID
		}
	}
	p.containerInfos[c.Name] = next
}

// container returns the state of the named container, nil if there is none.
func (p *pod) container(name string) *podlifecycle.Status {
	init, containers := p.lifecycle.Statuses()
	for _, list := range [...][]podlifecycle.Status{containers, init, p.lifecycle.EphemeralStatuses()} {
		if i := slices.IndexFunc(list, func(s podlifecycle.Status) bool { return s.Name == name }); i >= 0 {
			return &list[i]
		}
	}
	return nil
}

func (p *pod) containerState(name string) podlifecycle.State {
	if s := p.container(name); s != nil {
		return s.State
	}
	return podlifecycle.ContainerNotStarted
}

// hasStarted reports whether any init or regular container has been started.
func (p *pod) hasStarted() bool {
	init, containers := p.lifecycle.Statuses()
	return slices.ContainsFunc(slices.Concat(init, containers), func(s podlifecycle.Status) bool { return s.State != podlifecycle.ContainerNotStarted || s.Restarts > 0 })
}

// compareByName orders pods by namespace and name.
func compareByName(a, b *corev1.Pod) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

// podsOf returns the pods of a node, sorted by namespace and name.
func (a *Agent) podsOf(n *node) []*pod {
	var out []*pod
	for _, p := range a.pods {
		if p.node == n {
			out = append(out, p)
		}
	}
	slices.SortFunc(out, func(x, y *pod) int { return compareByName(x.object, y.object) })
	return out
}

// handlePodEvent processes a change of a pod from the watch.
func (a *Agent) handlePodEvent(p *corev1.Pod, deleted bool) {
	switch {
	case a.isMirrorPod(p):
		a.handleMirrorPod(p, deleted)
	case deleted:
		a.handlePodRemoval(p.UID)
	default:
		a.handlePod(p)
	}
}

func (a *Agent) handlePod(object *corev1.Pod) {
	p := a.pods[object.UID]
	existed := p != nil
	var events []podlifecycle.Event
	switch {
	case !existed:
		p = a.addPod(object)
		events = append(a.recheckSysctls(p), a.resumeEviction(p)...)
	case isNewer(p.object, object):
		return
	default:
		events = a.updatePod(p, object)
	}
	if object.DeletionTimestamp != nil {
		events = append(events, podlifecycle.Delete{Grace: remainingGrace(object, existed, a.env.now())})
		a.unblock(p)
	}
	a.stepPod(p, events...)
}

// updatePod applies a new version of the object and returns the lifecycle events it causes.
func (a *Agent) updatePod(p *pod, object *corev1.Pod) (events []podlifecycle.Event) {
	previous := p.object
	p.object = object
	if p.reserved {
		p.node.activePods.put(object)
	}
	if p.rejected || p.lifecycle.Stopped() {
		return nil
	}
	resized := p.observeResources(previous)
	if !maps.Equal(previous.Labels, object.Labels) || !maps.Equal(previous.Annotations, object.Annotations) ||
		!specEqual(&previous.Spec, &object.Spec) || (previous.DeletionTimestamp == nil) != (object.DeletionTimestamp == nil) {
		a.runtime.Update(p.podWithAllocated())
	}
	if resized {
		events = append(events, a.tryResize(p)...)
	}
	if limit := object.Spec.ActiveDeadlineSeconds; !ptr.Equal(limit, previous.Spec.ActiveDeadlineSeconds) {
		events = append(events, podlifecycle.SetDeadline{Deadline: conversion.PodLifecycleSpec(&object.Spec).Deadline})
	}
	for i := len(previous.Spec.EphemeralContainers); i < len(object.Spec.EphemeralContainers); i++ { // the API only appends
		events = append(events, podlifecycle.AddEphemeral{Container: podlifecycle.Container{Name: object.Spec.EphemeralContainers[i].Name}})
	}
	for _, cs := range [][2][]corev1.Container{{previous.Spec.InitContainers, object.Spec.InitContainers}, {previous.Spec.Containers, object.Spec.Containers}} {
		for i := range cs[1] {
			if i < len(cs[0]) && cs[0][i].Image != cs[1][i].Image {
				events = append(events, podlifecycle.RestartContainer{Container: cs[1][i].Name})
			}
		}
	}
	return events
}

// specEqual reports whether two specifications are equal. reflect.DeepEqual is faster, but unequal for some equal quantities.
func specEqual(a, b *corev1.PodSpec) bool {
	return reflect.DeepEqual(a, b) || equality.Semantic.DeepEqual(a, b)
}

// unblock lets a blocked pod start or terminate.
func (a *Agent) unblock(p *pod) {
	if p.blocked {
		p.blocked, p.admissionPending, p.pendingVictims = false, false, nil
		delete(a.preemptors, p.object.UID)
		a.claims.remove(p.object.UID)
	}
}

// handleClaimsBound starts a pod whose claims are now bound.
func (a *Agent) handleClaimsBound(uid types.UID) {
	if p := a.pods[uid]; p != nil && p.blocked {
		a.unblock(p)
		a.stepPod(p)
	}
}

// stepPod passes events to the pod's lifecycle machine and executes the effects.
func (a *Agent) stepPod(p *pod, events ...podlifecycle.Event) {
	if p.blocked {
		if !p.admissionPending {
			a.queueStatus(p)
		}
		return
	}
	if p.deletable {
		if p.statusDirty {
			a.statusQueue = append(a.statusQueue, p) // a previous write of the final status failed
		}
		a.removeReleased(p)
		return
	}
	a.saveAllocations(p.node)
	effects, wake := p.lifecycle.Step(a.env.now(), events...)
	for _, e := range effects {
		a.execute(p, e)
	}
	for _, e := range events {
		a.recordEvents(p, e)
	}
	a.countRunningContainers(p)
	if !wake.IsZero() && !wake.Equal(p.timerAt) { // do not add the same timer again
		p.timerAt = wake
		a.timers.add(wake, p.object.UID)
	}
	a.queueStatus(p)
	a.removeReleased(p)
}

func (a *Agent) countRunningContainers(p *pod) {
	if running := p.lifecycle.RunningContainers(); running != p.runningContainers {
		a.opts.Metrics.runningContainers.WithLabelValues("running").Add(float64(running - p.runningContainers))
		p.runningContainers = running
	}
}

// queueStatus queues a status write; nextWrite drops it if nothing changed.
func (a *Agent) queueStatus(p *pod) {
	p.statusDirty = true
	a.statusQueue = append(a.statusQueue, p)
}

func (a *Agent) execute(p *pod, e podlifecycle.Effect) {
	uid := p.object.UID
	switch e := e.(type) {
	case podlifecycle.Start:
		a.opts.Metrics.countStart(e.Attempt)
		a.runtime.Start(p.podWithAllocated(), e.Container, e.Attempt)
	case podlifecycle.RunPreStop:
		a.runtime.PreStop(p.podWithAllocated(), e.Container)
	case podlifecycle.Stop:
		if p.lifecycle.Terminating() {
			a.opts.Events.Eventf(containerReference(p.object, e.Container), corev1.EventTypeNormal, "Killing", "Stopping container %s", e.Container)
		}
		a.runtime.Stop(uid, e.Container)
	case podlifecycle.Kill:
		a.runtime.Kill(uid, e.Container)
	case podlifecycle.StartProbe:
		a.runtime.StartProbe(p.podWithAllocated(), e.Container, e.Probe, e.Attempt)
	case podlifecycle.StopProbe:
		a.runtime.StopProbe(uid, e.Container, e.Probe)
	case podlifecycle.PodStopped:
		a.handleTermination(p)
		a.runtime.Release(p.podWithAllocated())
	case podlifecycle.PodRemoved:
		p.deletable = true
	}
}

func (a *Agent) handleReport(r runtime.Report) {
	p := a.pods[r.Pod]
	if p == nil {
		return
	}
	if r.Released {
		p.runtimeReleased, p.statusDirty = true, true
		if p.untilReleased {
			p.untilReleased = false
			p.reportTermination()
		}
	}
	if len(r.Addresses) > 0 {
		p.addresses = r.Addresses
	}
	if r.Container != nil {
		p.setContainerInfo(r.Container)
	}
	if r.Resize != nil {
		a.handleResizeResult(p, r.Resize)
	}
	if r.Event == nil {
		a.stepPod(p)
		return
	}
	a.stepPod(p, r.Event)
	if a.pods[r.Pod] != p { // a static pod that is removed
		return
	}
	switch e := r.Event.(type) {
	case podlifecycle.Started:
		if restarts := a.handleStarted(p, e.Container, r.Resources); len(restarts) > 0 {
			a.stepPod(p, restarts...)
		}
	case podlifecycle.Exited:
		a.completeResize(p)
	}
}

// handleTermination releases the resources of a pod whose containers have all terminated.
func (a *Agent) handleTermination(p *pod) {
	a.releaseResources(p)
	if !p.untilReleased {
		p.reportTermination()
	}
	a.retryPreemptors(p.object.UID)
	a.retryResizes(p.node)
	a.continueShutdown(p.node, string(p.object.UID))
}

// releaseResources removes the pod from the node's accounting.
func (a *Agent) releaseResources(p *pod) {
	if p.reserved {
		p.reserved, p.node.allocationsChanged = false, true
		a.state.RemovePod(string(p.object.UID))
		if !p.untilReleased {
			p.node.activePods.remove(p.object.UID)
		}
		a.opts.Metrics.runningPods.Dec()
	}
}

// reportTermination removes the pod from the node's active pods, and calls its onTerminated functions.
func (p *pod) reportTermination() {
	p.node.activePods.remove(p.object.UID)
	for _, done := range p.onTerminated {
		done()
	}
	p.onTerminated = nil
}

// handlePodRemoval removes a pod whose object was deleted and kills its running containers.
func (a *Agent) handlePodRemoval(uid types.UID) {
	p := a.pods[uid]
	if p == nil {
		return
	}
	a.unblock(p)
	a.runtime.Forget(uid)
	p.untilReleased = false
	a.handleTermination(p)
	a.opts.Metrics.runningContainers.WithLabelValues("running").Sub(float64(p.runningContainers))
	if !p.node.hasRuntime {
		for _, ip := range p.addresses {
			p.node.podIPs.release(ip)
		}
	}
	delete(p.node.deferredResizes, p)
	delete(a.pods, uid)
}

// nextWrite returns the next pending status write or deletion, nil if there is none.
func (a *Agent) nextWrite() *statusWrite {
	for len(a.statusQueue) > 0 {
		p := a.statusQueue[0]
		a.statusQueue = a.statusQueue[1:]
		if !p.statusDirty || p.writing || a.pods[p.object.UID] != p || a.env.now().Before(p.retryAt) {
			continue
		}
		if a.isStatic(p) {
			if w := a.nextStaticWrite(p); w != nil {
				return w
			}
			continue
		}
		p.statusDirty = false
		var object *corev1.Pod
		if status := generateStatus(p, a.env.now()); !statusEqual(&p.object.Status, &status) {
			changed := *p.object
			changed.Status, object = status, &changed
		}
		if remove := p.deletable && p.runtimeReleased; object != nil || remove {
			p.writing = true
			return &statusWrite{uid: p.object.UID, object: object, current: p.object, remove: remove}
		}
	}
	return nil
}
