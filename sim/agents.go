package sim

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/podlife"
	"github.com/berthproject/berth/internal/intake"
	"github.com/berthproject/berth/sim/store"
)

// agents are the actors on the nodes: each runs the lives of its node's pods.
// Their containers live apart (processes), and go on when an agent is killed.
type agents struct {
	w         *World
	r         *reader
	down      map[string]bool // nodes whose agent is dead
	cut       map[string]bool // nodes that are cut off from the API
	pods      map[types.UID]*agentPod
	processes processes
	strains   strains
	places    places
	heartbeats
}

type agentPod struct {
	object  *corev1.Pod // as seen last
	life    *podlife.Life
	alarm   int // only the latest wake counts
	gone    bool
	writing bool
	dirty   bool
	strained
}

// retryDelay is how long a failed write waits.
const retryDelay = 500 * time.Millisecond

func newAgents(w *World) *agents {
	a := &agents{w: w, down: map[string]bool{}, cut: map[string]bool{}, pods: map[types.UID]*agentPod{}, processes: processes{w: w, running: map[process]int{}, ended: map[process]int32{}, known: map[types.UID]bool{}, began: map[process]time.Time{}}, strains: strains{w: w, nodes: map[string]*strain{}, reported: map[string][model.NumPressures]bool{}}, places: places{w: w, state: cluster.New()}}
	a.processes.report = func(uid types.UID, e podlife.Event) {
		if p := a.pods[uid]; p != nil {
			a.step(p, e)
		}
	}
	a.heartbeats = heartbeats{w: w, died: map[string]time.Time{}, reports: map[string]map[corev1.NodeConditionType]corev1.ConditionStatus{}, posting: map[string]bool{}}
	a.r = w.newReader("agents", store.Nodes, store.Pods)
	a.r.wants = func(c store.Change) bool {
		p, isPod := c.Object().(*corev1.Pod)
		return !isPod || p.Spec.NodeName != ""
	}
	a.r.see = func(c store.Change) {
		switch o := c.Object().(type) {
		case *corev1.Pod:
			a.changed(o, c.New == nil)
		case *corev1.Node:
			if c.New != nil {
				a.seen(o)
				a.strains.begin(o.Name)
			}
		}
	}
	a.r.replace = func(k store.Kind, list []store.Object) {
		if k == store.Nodes {
			for _, o := range list {
				if n, ok := o.(*corev1.Node); ok {
					a.seen(n)
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
		slices.SortStableFunc(pods, takenFirst)
		for _, p := range pods {
			a.changed(p, false)
		}
		for _, uid := range sortedKeys(a.pods) {
			if p := a.pods[uid]; !there[uid] {
				a.changed(p.object, true)
			}
		}
	}
	a.r.begin()
	return a
}

// KillAgent ends the agent of a node: its pods run on, and nobody ends them.
func (w *World) KillAgent(node string) {
	a := w.agents
	a.down[node] = true
	a.strains.drop(node)
	if _, dead := a.died[node]; !dead {
		a.died[node] = w.now
	}
	w.nodelife.steps.poke(0)
	for _, uid := range sortedKeys(a.pods) {
		if a.pods[uid].object.Spec.NodeName == node {
			delete(a.pods, uid)
		}
	}
}

// StartAgent begins anew from a list.
func (w *World) StartAgent(node string) {
	a := w.agents
	if !a.down[node] {
		return
	}
	delete(a.down, node)
	if a.cut[node] {
		return // it has its list when it can ask for it
	}
	delete(a.died, node)
	a.post(node, w.o.Latency)
	w.after(w.o.Latency, func() { a.relist(node) })
}

// changed takes in a pod of a node.
func (a *agents) changed(object *corev1.Pod, gone bool) {
	if a.cut[object.Spec.NodeName] {
		return
	}
	if a.down[object.Spec.NodeName] {
		if gone {
			a.processes.forget(object)
		}
		return
	}
	p := a.pods[object.UID]
	if gone {
		a.processes.forget(object)
		delete(a.pods, object.UID)
		return
	}
	if p == nil {
		if by := a.rejected(object); by != nil {
			a.reject(object, by)
			return
		}
		p = a.admit(object)
		a.pods[object.UID] = p
		a.places.take(p)
	}
	if !older(object, p.object) {
		p.object = object
	}
	var events []podlife.Event
	if object.DeletionTimestamp != nil {
		grace := max(object.DeletionTimestamp.Sub(a.w.now), 0)
		events = append(events, podlife.Delete{Grace: grace})
	}
	a.step(p, events...)
	a.strains.take(p)
}

// older says that a was written before b.
func older(a, b *corev1.Pod) bool {
	return len(a.ResourceVersion) < len(b.ResourceVersion) || len(a.ResourceVersion) == len(b.ResourceVersion) && a.ResourceVersion < b.ResourceVersion
}

// admit takes up a pod: a new life, or the one that its status tells of.
func (a *agents) admit(object *corev1.Pod) *agentPod {
	spec := intake.LifeSpec(&object.Spec).Unprobed() // what runs here is well
	was := intake.LifeStatuses(&object.Status)
	if len(was) == 0 && object.Status.Phase != corev1.PodSucceeded && object.Status.Phase != corev1.PodFailed {
		return &agentPod{object: object, life: podlife.New(spec)}
	}
	p := &agentPod{object: object, life: podlife.Resume(spec, intake.LifePhase(object.Status.Phase), was)}
	for _, s := range was {
		if s.State == podlife.Up {
			a.processes.resume(object, s.Name)
		}
	}
	return p
}

// step asks the pod's life what to do and does it.
func (a *agents) step(p *agentPod, events ...podlife.Event) {
	if p.gone {
		return
	}
	effects, wake := p.life.Step(a.w.now, events...)
	for started := a.carryOut(p, effects); len(started) > 0; started = a.carryOut(p, effects) {
		effects, wake = p.life.Step(a.w.now, started...)
	}
	p.alarm++
	if alarm := p.alarm; !wake.IsZero() {
		a.w.at(wake, func() {
			if p.alarm == alarm && a.pods[p.object.UID] == p {
				a.step(p)
			}
		})
	}
	a.write(p)
}

// carryOut does what a pod's life asks for, and returns which containers run at once.
func (a *agents) carryOut(p *agentPod, effects []podlife.Effect) (started []podlife.Event) {
	for _, e := range effects {
		switch e := e.(type) {
		case podlife.Start:
			if a.processes.start(p.object, e.Container) {
				started = append(started, podlife.Started{Container: e.Container})
			}
		case podlife.PreStop:
			a.processes.preStop(p.object, e.Container)
		case podlife.Stop:
			a.processes.stop(p.object, e.Container)
		case podlife.Kill:
			a.processes.end(p.object, e.Container, codeKill)
		case podlife.Gone:
			p.gone = true
		}
	}
	return started
}

// write reports the pod's status, and then its end, a latency later.
func (a *agents) write(p *agentPod) {
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
	a.w.after(a.w.o.Latency, func() { a.written(p, status, news) })
}

// written does the write, unless its agent was killed meanwhile.
func (a *agents) written(p *agentPod, status corev1.PodStatus, news bool) {
	p.writing = false
	if a.pods[p.object.UID] != p {
		return
	}
	if a.cut[p.object.Spec.NodeName] {
		p.dirty = true
		return
	}
	key, pre := keyOf(p.object), store.Precondition{UID: string(p.object.UID)}
	if a.w.faults.happens(a.w.o.Faults.Writes, "write/"+key) {
		a.w.after(retryDelay, func() {
			if a.pods[p.object.UID] == p {
				a.write(p)
			}
		})
		return
	}
	if news {
		err := a.w.api.ChangePod(key, pre, func(o *corev1.Pod) error {
			keep := o.Status
			o.Status = status
			o.Status.NominatedNodeName = keep.NominatedNodeName
			o.Status.Conditions = merge(keep.Conditions, status.Conditions)
			return nil
		})
		if err == nil {
			a.told(p.object, &status)
			a.displaced(p, &status)
			if o := a.w.api.Pod(key); o != nil && o.UID == p.object.UID {
				p.object = o
			}
		}
	}
	if p.gone {
		if a.w.api.DeletePod(key, pre, new(int64)) == nil {
			a.w.tell("agent", "gone", key, key+" is gone from "+p.object.Spec.NodeName)
		}
		return
	}
	if p.dirty {
		a.write(p)
	}
}

// told puts a pod's new phase into the timeline.
func (a *agents) told(old *corev1.Pod, status *corev1.PodStatus) {
	if old.Status.Phase == status.Phase {
		return
	}
	words := map[corev1.PodPhase]string{corev1.PodRunning: "runs", corev1.PodSucceeded: "has succeeded", corev1.PodFailed: "has failed"}
	if w := words[status.Phase]; w != "" {
		a.w.tell("agent", string(status.Phase), keyOf(old), keyOf(old)+" "+w+" on "+old.Spec.NodeName)
	}
}
