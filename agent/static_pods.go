package agent

import (
	"context"
	"maps"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// staticPods is the state of the static pods of the only node. A static pod comes from a manifest on the node. Its
// mirror pod in the API shows its status and has no other effect. Only the loop accesses this state, except view.
type staticPods struct {
	source <-chan []*corev1.Pod // each value has all static pods of the node; nil: mirror pods are ordinary pods
	// known reports whether source has delivered pods, or is nil. Until then the agent must not remove anything that
	// may be a static pod or its mirror pod.
	known bool
	// kept has the pods that are not orphans while the removal of orphans waits for the static pods. Otherwise it is
	// nil.
	kept map[types.UID]bool
	// The keys of these maps are namespace/name.
	desired map[string]*corev1.Pod // as in the manifests
	running map[string]types.UID   // static pods in Agent.pods, including those that terminate
	mirrors map[string]*corev1.Pod // mirror pods as last observed
	writing map[string]bool        // a mirror pod is being created or deleted
	// ended has the UIDs of the mirror pods of removed static pods. The next start does not continue from their status.
	ended    map[string]types.UID
	failures map[string]*mirrorFailure // consecutive failed writes of a mirror pod
	// view has the running static pods for other goroutines.
	view atomic.Pointer[map[string]*corev1.Pod]
}

func newStaticPods(source <-chan []*corev1.Pod) *staticPods {
	return &staticPods{source: source, known: source == nil, desired: map[string]*corev1.Pod{}, running: map[string]types.UID{}, mirrors: map[string]*corev1.Pod{},
		writing: map[string]bool{}, ended: map[string]types.UID{}, failures: map[string]*mirrorFailure{}}
}

// configSeen is the annotation with the time at which the agent observed a manifest.
const configSeen = "kubernetes.io/config.seen"

func podKey(p *corev1.Pod) string { return p.Namespace + "/" + p.Name }

// isMirrorPod reports whether the agent treats a pod from the API server as a mirror pod.
func (a *Agent) isMirrorPod(p *corev1.Pod) bool {
	_, isMirror := p.Annotations[corev1.MirrorPodAnnotationKey]
	return isMirror && a.static.source != nil
}

// isStatic reports whether a pod of the agent is a static pod.
func (a *Agent) isStatic(p *pod) bool { return a.static.running[podKey(p.object)] == p.object.UID }

// staticPodsTimeout is how long the start of the agent waits for the static pods, for example while their directory cannot
// be read. Then the agent runs the pods of the API server, and starts the static pods later.
const staticPodsTimeout = 10 * time.Second

// awaitStaticPods starts the static pods that exist at the start. It returns false if ctx ends.
func (a *Agent) awaitStaticPods(ctx context.Context) bool {
	if a.static.source == nil {
		return true
	}
	timeout := time.NewTimer(staticPodsTimeout)
	defer timeout.Stop()
	select {
	case list := <-a.static.source:
		a.setStaticPods(list)
		return true
	case <-timeout.C:
		a.opts.Log.Info("The static pods are still unknown; starting without them, and without removing orphaned pods", "waited", staticPodsTimeout)
		return true
	case <-ctx.Done():
		return false
	}
}

// forwardStaticPods passes the static pods to the loop until ctx is done.
func (a *Agent) forwardStaticPods(ctx context.Context) {
	for {
		select {
		case list := <-a.static.source:
			a.inbox.post(func() { a.setStaticPods(list) })
		case <-ctx.Done():
			return
		}
	}
}

// removeOrphans removes the pods of the runtime that are not in existing, as soon as the static pods are known.
func (a *Agent) removeOrphans(existing map[types.UID]bool) {
	if !a.static.known {
		a.static.kept = existing
		return
	}
	a.runtime.RemoveOrphans(existing)
}

// setStaticPods starts the static pods that are new, and stops those that were removed or changed.
func (a *Agent) setStaticPods(list []*corev1.Pod) {
	s := a.static
	s.known = true
	previous := s.desired
	s.desired = map[string]*corev1.Pod{}
	for _, p := range list {
		s.desired[podKey(p)] = p
	}
	for key, p := range previous {
		if next := s.desired[key]; next == nil || next.UID != p.UID {
			a.stopStaticPod(key)
		}
	}
	for key := range s.desired {
		a.startStaticPod(key)
	}
	if kept := s.kept; kept != nil {
		s.kept = nil
		a.runtime.RemoveOrphans(kept)
	}
	a.reconcileMirrors()
}

// forgetter is implemented by runtimes whose Forget continues in the background.
type forgetter interface {
	// Forgetting reports whether the runtime still removes a pod.
	Forgetting(uid types.UID) bool
}

const (
	// staticTimerPrefix marks the keys of timers that start a static pod.
	staticTimerPrefix = types.UID("static/")
	// forgetDelay is the time between checks whether the runtime has removed the earlier version of a static pod.
	forgetDelay = 100 * time.Millisecond
)

// startStaticPod starts a static pod. While an earlier version is running or being removed, the start is delayed.
func (a *Agent) startStaticPod(key string) {
	desired := a.static.desired[key]
	if desired == nil || a.static.running[key] != "" {
		return
	}
	if r, ok := a.runtime.(forgetter); ok && r.Forgetting(desired.UID) {
		a.timers.add(a.env.now().Add(forgetDelay), staticTimerPrefix+types.UID(key))
		return
	}
	a.static.running[key] = desired.UID
	object := desired.DeepCopy()
	object.CreationTimestamp = metav1.NewTime(a.env.now().Truncate(time.Second))
	metav1.SetMetaDataAnnotation(&object.ObjectMeta, configSeen, a.env.now().UTC().Format(time.RFC3339Nano))
	a.handlePod(a.withMirror(object))
	a.updateStaticView()
}

// stopStaticPod stops a static pod within its grace period.
func (a *Agent) stopStaticPod(key string) {
	p := a.pods[a.static.running[key]]
	if p == nil || p.object.DeletionTimestamp != nil {
		return
	}
	object := p.object.DeepCopy()
	grace := terminationGracePeriod(object)
	object.DeletionTimestamp = ptr.To(metav1.NewTime(a.env.now().Add(grace)))
	object.DeletionGracePeriodSeconds = ptr.To(int64(grace / time.Second))
	a.handlePod(object)
	a.updateStaticView()
}

// removeReleased removes a terminated static pod whose sandbox and volumes the runtime has released. It does not wait
// for the API server.
func (a *Agent) removeReleased(p *pod) {
	if p.deletable && p.runtimeReleased && a.isStatic(p) && a.pods[p.object.UID] == p {
		a.removeStaticPod(p)
	}
}

// removeStaticPod removes a static pod whose containers have terminated, and starts its next version, if any.
func (a *Agent) removeStaticPod(p *pod) {
	key := podKey(p.object)
	delete(a.static.running, key)
	if mirror := a.static.mirrors[key]; mirror != nil {
		a.static.ended[key] = mirror.UID
	}
	a.handlePodRemoval(p.object.UID)
	a.updateStaticView()
	a.startStaticPod(key)
	a.reconcileMirror(key)
}

// isMirrorOf reports whether a mirror pod, which may be nil, represents the current run of a static pod.
func (a *Agent) isMirrorOf(mirror, static *corev1.Pod) bool {
	return mirror != nil && mirror.Annotations[corev1.MirrorPodAnnotationKey] == string(static.UID) && mirror.UID != a.static.ended[podKey(mirror)]
}

// withMirror returns a static pod with the status, versions and creation time of its mirror pod.
func (a *Agent) withMirror(object *corev1.Pod) *corev1.Pod {
	mirror := a.static.mirrors[podKey(object)]
	if !a.isMirrorOf(mirror, object) {
		return object
	}
	out := *object
	out.ResourceVersion, out.Generation, out.CreationTimestamp, out.Status = mirror.ResourceVersion, mirror.Generation, mirror.CreationTimestamp, mirror.Status
	return &out
}

// handleMirrorPod processes a new, changed or deleted mirror pod.
func (a *Agent) handleMirrorPod(object *corev1.Pod, deleted bool) {
	key := podKey(object)
	previous := a.static.mirrors[key]
	switch {
	case !deleted && (previous == nil || previous.UID != object.UID || !isNewer(previous, object)):
		a.static.mirrors[key] = object
	case deleted && previous != nil && previous.UID == object.UID:
		delete(a.static.mirrors, key)
	default:
		return
	}
	if p := a.pods[a.static.running[key]]; p != nil && !deleted {
		p.object = a.withMirror(p.object)
		if p.reserved {
			p.node.activePods.put(p.object)
		}
		a.queueStatus(p)
		a.updateStaticView()
	}
	a.reconcileMirror(key)
}

// nextStaticWrite returns the write of a static pod's status to its mirror pod, or nil.
func (a *Agent) nextStaticWrite(p *pod) *statusWrite {
	p.statusDirty = false
	status := generateStatus(p, a.env.now()) // also sets the start time
	mirror := a.static.mirrors[podKey(p.object)]
	if !a.isMirrorOf(mirror, p.object) || mirror.DeletionTimestamp != nil {
		return nil // the next mirror pod gets the status
	}
	object := mirror.DeepCopy()
	object.Status = status
	if statusEqual(&mirror.Status, &object.Status) {
		return nil
	}
	p.writing = true
	return &statusWrite{uid: p.object.UID, object: object, current: mirror}
}

// observeWrite processes the pod that the API returned for a status write.
func (a *Agent) observeWrite(p *pod, object *corev1.Pod) {
	switch {
	case a.isStatic(p):
		if mirror := a.static.mirrors[podKey(object)]; mirror != nil && mirror.UID == object.UID && isNewer(object, mirror) {
			a.static.mirrors[podKey(object)] = object
			p.object = a.withMirror(p.object)
			a.updateStaticView()
		}
	case isNewer(object, p.object):
		p.object = object
	}
}

// updateStaticView publishes the static pods for other goroutines.
func (a *Agent) updateStaticView() {
	view := map[string]*corev1.Pod{}
	for key, uid := range a.static.running {
		if p := a.pods[uid]; p != nil {
			view[key] = p.object
		}
	}
	a.static.view.Store(&view)
}

// listStaticPods returns the static pods as last observed. Any goroutine may call it.
func (a *Agent) listStaticPods() map[string]*corev1.Pod {
	if view := a.static.view.Load(); view != nil {
		return maps.Clone(*view)
	}
	return nil
}
