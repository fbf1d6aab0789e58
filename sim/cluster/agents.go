package cluster

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/podlifecycle"
	"github.com/berthproject/berth/internal/conversion"
	"github.com/berthproject/berth/sim"
	"github.com/berthproject/berth/sim/store"
)

// agents are the node agents: each runs the lifecycles of its node's pods. The containers
// survive a restart of their agent.
type agents struct {
	w             *Cluster
	reflector     *sim.Reflector
	stopped       map[string]bool // nodes whose agent is stopped
	partitioned   map[string]bool // nodes that are partitioned from the API
	pods          map[types.UID]*agentPod
	containers    containers
	nodePressures nodePressures
	admission     nodeAdmission
	heartbeats
}

type agentPod struct {
	object  *corev1.Pod // as last observed
	life    *podlifecycle.Machine
	wakeSeq int // invalidates earlier wake-ups
	gone    bool
	writing bool
	dirty   bool
	podUsage
}

// retryDelay is the delay before a failed write is retried.
const retryDelay = 500 * time.Millisecond

func newAgents(w *Cluster) *agents {
	a := &agents{w: w, stopped: map[string]bool{}, partitioned: map[string]bool{}, pods: map[types.UID]*agentPod{}, containers: containers{w: w, running: map[containerID]int{}, exitCodes: map[containerID]int32{}, startedPods: map[types.UID]bool{}, startedAt: map[containerID]time.Time{}}, nodePressures: nodePressures{w: w, nodes: map[string]*nodePressure{}, reported: map[string][model.NumPressures]bool{}}, admission: nodeAdmission{w: w, state: cluster.New()}}
	a.containers.report = func(uid types.UID, e podlifecycle.Event) {
		if p := a.pods[uid]; p != nil {
			a.step(p, e)
		}
	}
	a.heartbeats = heartbeats{w: w, silentSince: map[string]time.Time{}, reports: map[string]map[corev1.NodeConditionType]corev1.ConditionStatus{}, posting: map[string]bool{}}
	a.reflector = w.NewReflector("agents", a, store.Nodes, store.Pods)
	a.reflector.Filter = func(c store.Change) bool {
		p, isPod := c.Object().(*corev1.Pod)
		return !isPod || p.Spec.NodeName != ""
	}
	a.reflector.Start()
	return a
}

// Change implements sim.Actor.
func (a *agents) Change(c store.Change) {
	switch o := c.Object().(type) {
	case *corev1.Pod:
		a.observePod(o, c.New == nil)
	case *corev1.Node:
		if c.New != nil {
			a.observeNode(o)
			a.nodePressures.startNode(o.Name)
		}
	}
}

// Replace implements sim.Actor.
func (a *agents) Replace(k store.Kind, list []store.Object) {
	if k == store.Nodes {
		for _, o := range list {
			if n, ok := o.(*corev1.Node); ok {
				a.observeNode(n)
			}
		}
		return
	}
	there := map[types.UID]bool{}
	var pods []*corev1.Pod
	for _, o := range list {
		if p, ok := o.(*corev1.Pod); ok && p.Spec.NodeName != "" {
			there[p.UID] = true
			pods = append(pods, p)
		}
	}
	slices.SortStableFunc(pods, compareAdmitted)
	for _, p := range pods {
		a.observePod(p, false)
	}
	for _, uid := range slices.Sorted(maps.Keys(a.pods)) {
		if p := a.pods[uid]; !there[uid] {
			a.observePod(p.object, true)
		}
	}
}

// Kill implements sim.Actor: it restarts every running agent.
func (a *agents) Kill(d time.Duration) {
	for _, o := range slices.Clone(a.w.API().List(store.Nodes)) {
		if name := o.GetName(); !a.stopped[name] {
			a.w.KillAgent(name)
			a.w.After(d, func() { a.w.StartAgent(name) })
		}
	}
}

// KillAgent stops the agent of a node; its pods keep running.
func (w *Cluster) KillAgent(node string) {
	a := w.agents
	a.stopped[node] = true
	a.nodePressures.removeNode(node)
	if _, dead := a.silentSince[node]; !dead {
		a.silentSince[node] = w.Now()
	}
	w.nodeLifecycle.steps.Schedule(0)
	for _, uid := range slices.Sorted(maps.Keys(a.pods)) {
		if a.pods[uid].object.Spec.NodeName == node {
			delete(a.pods, uid)
		}
	}
}

// StartAgent starts the agent of a node from a list.
func (w *Cluster) StartAgent(node string) {
	a := w.agents
	if !a.stopped[node] {
		return
	}
	delete(a.stopped, node)
	if a.partitioned[node] {
		return // ReconnectNode lists
	}
	delete(a.silentSince, node)
	a.postStatus(node, w.Latency())
	w.After(w.Latency(), func() { a.relist(node) })
}

// observePod handles a changed pod of a node.
func (a *agents) observePod(object *corev1.Pod, gone bool) {
	if a.partitioned[object.Spec.NodeName] {
		return
	}
	if a.stopped[object.Spec.NodeName] {
		if gone {
			a.containers.forget(object)
		}
		return
	}
	p := a.pods[object.UID]
	if gone {
		a.containers.forget(object)
		delete(a.pods, object.UID)
		return
	}
	if p == nil {
		if by := a.rejectionOf(object); by != nil {
			a.rejectPod(object, by)
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
func (a *agents) newPod(object *corev1.Pod) *agentPod {
	spec := conversion.PodLifecycleSpec(&object.Spec).WithoutProbes() // simulated containers are always healthy
	was := conversion.PodLifecycleStatuses(&object.Status)
	if len(was) == 0 && object.Status.Phase != corev1.PodSucceeded && object.Status.Phase != corev1.PodFailed {
		return &agentPod{object: object, life: podlifecycle.New(spec)}
	}
	p := &agentPod{object: object, life: podlifecycle.Resume(spec, conversion.PodLifecyclePhase(object.Status.Phase), was)}
	for _, s := range was {
		if s.State == podlifecycle.ContainerRunning {
			a.containers.resume(object, s.Name)
		}
	}
	return p
}

// step runs a step of the pod's lifecycle.
func (a *agents) step(p *agentPod, events ...podlifecycle.Event) {
	if p.gone {
		return
	}
	effects, wake := p.life.Step(a.w.Now(), events...)
	for started := a.applyEffects(p, effects); len(started) > 0; started = a.applyEffects(p, effects) {
		effects, wake = p.life.Step(a.w.Now(), started...)
	}
	p.wakeSeq++
	if alarm := p.wakeSeq; !wake.IsZero() {
		a.w.AtTime(wake, func() {
			if p.wakeSeq == alarm && a.pods[p.object.UID] == p {
				a.step(p)
			}
		})
	}
	a.writeStatus(p)
}

// applyEffects executes the effects of a lifecycle and returns the containers that started at
// once.
func (a *agents) applyEffects(p *agentPod, effects []podlifecycle.Effect) (started []podlifecycle.Event) {
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
			p.gone = true
		}
	}
	return started
}

// writeStatus writes the status of the pod, and finally deletes it, after the latency.
func (a *agents) writeStatus(p *agentPod) {
	p.dirty = true
	if p.writing {
		return
	}
	status, news := statusOf(a.w, p)
	if !news && !p.gone {
		p.dirty = false
		return
	}
	p.writing, p.dirty = true, false
	a.w.After(a.w.Latency(), func() { a.commitStatus(p, status, news) })
}

// commitStatus performs the write unless the agent was killed in the meantime.
func (a *agents) commitStatus(p *agentPod, status corev1.PodStatus, news bool) {
	p.writing = false
	if a.pods[p.object.UID] != p {
		return
	}
	if a.partitioned[p.object.Spec.NodeName] {
		p.dirty = true
		return
	}
	key, pre := store.KeyOf(p.object), store.Precondition{UID: string(p.object.UID)}
	if a.w.Faults().LosesWrite(key) {
		a.w.After(retryDelay, func() {
			if a.pods[p.object.UID] == p {
				a.writeStatus(p)
			}
		})
		return
	}
	if news {
		err := a.w.API().UpdatePod(key, pre, func(o *corev1.Pod) error {
			keep := o.Status
			o.Status = status
			o.Status.NominatedNodeName = keep.NominatedNodeName
			o.Status.Conditions = mergeConditions(keep.Conditions, status.Conditions)
			return nil
		})
		if err == nil {
			a.logPhase(p.object, &status)
			a.countEviction(p, &status)
			if o := a.w.API().Pod(key); o != nil && o.UID == p.object.UID {
				p.object = o
			}
		}
	}
	if p.gone {
		if a.w.API().DeletePod(key, pre, new(int64)) == nil {
			a.w.Log("agent", "gone", key, key+" is deleted from "+p.object.Spec.NodeName)
		}
		return
	}
	if p.dirty {
		a.writeStatus(p)
	}
}

// logPhase logs a phase change.
func (a *agents) logPhase(old *corev1.Pod, status *corev1.PodStatus) {
	if old.Status.Phase == status.Phase {
		return
	}
	words := map[corev1.PodPhase]string{corev1.PodRunning: "runs", corev1.PodSucceeded: "has succeeded", corev1.PodFailed: "has failed"}
	if w := words[status.Phase]; w != "" {
		a.w.Log("agent", string(status.Phase), store.KeyOf(old), store.KeyOf(old)+" "+w+" on "+old.Spec.NodeName)
	}
}
