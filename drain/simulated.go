package drain

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/berthproject/berth/engine/budget"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/scheduling"
)

// simulatedCluster simulates a cluster: owners replace pods, the scheduler's machine schedules
// them, and scheduled pods become Ready. Requests complete at once; time advances only when
// nothing else can happen.
type simulatedCluster struct {
	now     time.Time
	machine *scheduling.Machine
	view    *View
	scale   func(model.Owner) budget.Scale
	timing  timing
	surged  map[string]int32 // additional desired pods by owner UID

	budgets        map[string]map[string]*model.Budget // by namespace and name
	events         []scheduling.Event
	terminating    []*model.Pod // in the order of deletion
	serial         int
	preempted      []preemptionVictim
	preemptionLoop bool // the machine never became idle
}

// preemptionVictim is a pod preempted for a replacement.
type preemptionVictim struct{ Pod, By *model.Pod }

// schedulerStep is the duration of a scheduler step.
const schedulerStep = time.Millisecond

func newSimulatedCluster(now time.Time, cfg scheduling.Config, objects []any, scale func(model.Owner) budget.Scale) *simulatedCluster {
	w := &simulatedCluster{now: now, machine: scheduling.New(cfg), scale: scale, surged: map[string]int32{}, budgets: map[string]map[string]*model.Budget{}}
	w.view = NewView(w.machine.State())
	for _, o := range objects {
		switch o := o.(type) {
		case *model.Pod:
			w.put(o)
			if o.Deleting {
				w.terminating = append(w.terminating, o)
			}
		case *model.Budget:
			w.putBudget(o)
		default:
			w.events = append(w.events, o)
		}
	}
	return w
}

func (w *simulatedCluster) putBudget(b *model.Budget) {
	if w.budgets[b.Namespace] == nil {
		w.budgets[b.Namespace] = map[string]*model.Budget{}
	}
	w.budgets[b.Namespace][b.Name] = b
	w.events = append(w.events, b)
}

// budgetsIn returns the current budgets of a namespace.
func (w *simulatedCluster) budgetsIn(namespace string) []*model.Budget {
	out := slices.Collect(maps.Values(w.budgets[namespace]))
	slices.SortFunc(out, func(a, b *model.Budget) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

func (w *simulatedCluster) put(p *model.Pod) {
	w.view.Put(p)
	w.events = append(w.events, p)
}

// change updates an existing pod.
func (w *simulatedCluster) change(uid string, f func(*model.Pod)) *model.Pod {
	p := w.view.Pod(uid)
	if p == nil {
		return nil
	}
	q := *p
	f(&q)
	w.put(&q)
	return &q
}

func (w *simulatedCluster) cordon(nodes []string) {
	for _, name := range nodes {
		id, ok := w.view.State.NodeID(name)
		if !ok {
			continue
		}
		n := *w.view.State.Node(id).Model
		n.Unschedulable = true
		if !slices.Contains(n.Taints, unschedulable) {
			n.Taints = append(slices.Clone(n.Taints), unschedulable)
		}
		w.events = append(w.events, &n)
	}
	w.runScheduler()
}

// Limits of a simulation, in scheduler steps and replacements per pod, beyond which it counts
// as a preemption loop.
const (
	maxSchedulerSteps     = 100_000
	maxReplacementsPerPod = 2
)

// runScheduler runs the scheduler until it is idle and terminates pods that nominated pods
// wait for.
func (w *simulatedCluster) runScheduler() {
	limit := w.serial + 100 + maxReplacementsPerPod*w.view.Len()
	for range maxSchedulerSteps {
		if w.serial > limit {
			break
		}
		events := w.events
		w.events = nil
		w.now = w.now.Add(schedulerStep)
		effects, wake := w.machine.Step(w.now, events, 64)
		for _, e := range slices.Clone(effects) {
			w.applyEffect(e)
		}
		d := w.machine.Depths()
		switch {
		case len(w.events) > 0:
		case d.Active+d.Backoff > 0 && wake.After(w.now):
			w.now = wake
		case d.Active+d.Backoff > 0:
		case w.terminateForNominated():
		default:
			return
		}
	}
	w.preemptionLoop = true
}

// terminateForNominated ends a terminating pod that a nominated pod waits for; it reports
// whether there is one.
func (w *simulatedCluster) terminateForNominated() bool {
	var next []*model.Pod
	for _, p := range w.view.Pending() {
		for _, v := range w.terminating {
			if p.NominatedNodeName != "" && v.NodeName == p.NominatedNodeName {
				next = append(next, v)
			}
		}
	}
	if len(next) == 0 {
		return false
	}
	w.removePod(next[w.timing.pickTerminated(len(next))])
	return true
}

// evict decides as the eviction API does. A pod with a surge pod is not replaced.
func (w *simulatedCluster) evict(p, replacement *model.Pod) (ok bool, message string) {
	w.now = w.now.Add(w.timing.stepDuration) // so that later pods are queued later
	current := w.view.Pod(p.UID)
	if current == nil {
		return true, ""
	}
	verdict := evictionRules.Check(current, w.budgetsIn(current.Namespace), w.view.InNamespace(current.Namespace), w.now)
	if verdict.Result != budget.Granted {
		return false, verdict.Reason
	}
	for _, b := range verdict.Debits {
		w.putBudget(budget.Debit(b, current, w.now))
	}
	w.deletePod(current, "EvictionByEvictionAPI", replacement == nil || w.view.Pod(replacement.UID) == nil)
	w.runScheduler()
	return true, ""
}

// deletePod marks a pod as terminating and lets its owner replace it.
func (w *simulatedCluster) deletePod(p *model.Pod, reason string, replaced bool) {
	q := w.change(p.UID, func(p *model.Pod) { p.Deleting, p.DisruptionReason = true, reason })
	if q == nil || p.Deleting {
		return
	}
	if q.NodeName == "" {
		w.removePod(q)
		return
	}
	w.terminating = append(w.terminating, q)
	if replaced && q.Owner.Kind != "StatefulSet" {
		w.replacePod(q)
	}
}

// removePod removes a pod.
func (w *simulatedCluster) removePod(p *model.Pod) {
	w.terminating = slices.DeleteFunc(w.terminating, func(q *model.Pod) bool { return q.UID == p.UID })
	if w.view.Pod(p.UID) == nil {
		return
	}
	w.now = w.now.Add(w.timing.stepDuration)
	w.view.Remove(p.UID)
	w.events = append(w.events, scheduling.Remove{Object: p})
	if p.Owner.Kind == "StatefulSet" {
		w.replacePod(p)
	}
	w.updateBudgetStatus(p.Namespace)
}

// replacePod creates a replacement if the owner needs one.
func (w *simulatedCluster) replacePod(p *model.Pod) {
	if p.Owner.UID == "" {
		return
	}
	if s := w.desiredScale(p.Owner); s.Fault == "" && countActive(w.view, p.Owner) >= int(s.Replicas) {
		return
	}
	w.serial++
	name := p.Name
	if p.Owner.Kind != "StatefulSet" {
		name += "-replacement-" + strconv.Itoa(w.serial)
	}
	q := newReplica(p, name, "preview/"+strconv.Itoa(w.serial)+"/"+p.UID)
	q.Created = w.now
	w.recreateClaims(p, q)
	w.put(q)
}

// desiredScale returns the desired number of pods of an owner.
func (w *simulatedCluster) desiredScale(o model.Owner) budget.Scale {
	s := w.scale(o)
	s.Replicas += w.surged[o.UID]
	return s
}

// surge changes the number of desired pods of an owner by delta.
func (w *simulatedCluster) surge(p *model.Pod, delta int32) {
	w.now = w.now.Add(w.timing.stepDuration)
	w.surged[p.Owner.UID] += delta
	if delta > 0 {
		q := *p
		if q.Owner.Kind == "StatefulSet" {
			q.Name += "-surge"
		}
		w.replacePod(&q)
	} else if extra := w.leastReady(p.Owner); extra != nil && countActive(w.view, p.Owner) > int(w.desiredScale(p.Owner).Replicas) {
		w.deletePod(extra, "", true)
	}
	w.updateBudgetStatus(p.Namespace)
	w.runScheduler()
}

// leastReady returns the pod that an owner with too many pods deletes: the surge pod of a
// StatefulSet, else an unscheduled pod, one that is not Ready, or the youngest.
func (w *simulatedCluster) leastReady(o model.Owner) *model.Pod {
	var least *model.Pod
	rank := func(p *model.Pod) int {
		switch {
		case strings.HasSuffix(p.Name, "-surge"):
			return 0
		case p.NodeName == "":
			return 1
		case !p.Ready:
			return 2
		}
		return 3
	}
	for _, p := range w.view.OwnedBy(o) {
		if !p.Deleting && (least == nil || rank(p) <= rank(least)) {
			least = p
		}
	}
	return least
}

// recreateClaims gives a new pod its own generated claims.
func (w *simulatedCluster) recreateClaims(p, q *model.Pod) {
	if q.Name == p.Name || !slices.ContainsFunc(p.Spec.Claims, func(c model.PodClaim) bool { return c.Ephemeral }) {
		return
	}
	s := *q.Spec
	s.Claims = slices.Clone(s.Claims)
	for i := range s.Claims {
		c := &s.Claims[i]
		existing, ok := w.view.State.PVC(p.Namespace, c.Claim)
		if !c.Ephemeral || !ok {
			continue
		}
		c.Claim = q.Name + "-" + c.Volume
		claim := *existing
		claim.Name, claim.UID, claim.VolumeName, claim.Bound, claim.HasSelectedNode, claim.SelectedNode = c.Claim, q.UID+"/"+c.Volume, "", false, false, ""
		claim.Owner = model.Owner{APIVersion: "v1", Kind: "Pod", Name: q.Name, UID: q.UID}
		w.events = append(w.events, &claim)
	}
	q.Spec = &s
}

// advance terminates a pod or, if none terminates, makes pods Ready. It reports whether a pod
// changed.
func (w *simulatedCluster) advance(ready func(*model.Pod) bool) bool {
	return w.terminateNext() || w.markReady(ready)
}

// terminateNext removes a terminating pod and reports whether there was one.
func (w *simulatedCluster) terminateNext() bool {
	if len(w.terminating) == 0 {
		return false
	}
	w.removePod(w.terminating[w.timing.pickTerminated(len(w.terminating))])
	w.runScheduler()
	return true
}

// markReady makes pods Ready and reports whether there were any.
func (w *simulatedCluster) markReady(ready func(*model.Pod) bool) bool {
	var notReady []*model.Pod
	for _, p := range w.view.All() {
		if p.NodeName != "" && !p.Ready && !p.Deleting && ready(p) {
			notReady = append(notReady, p)
		}
	}
	slices.SortFunc(notReady, func(a, b *model.Pod) int { return cmp.Or(cmp.Compare(a.Key(), b.Key()), cmp.Compare(a.UID, b.UID)) })
	for _, p := range notReady {
		w.change(p.UID, func(p *model.Pod) { p.Ready, p.Phase, p.Started = true, model.Running, w.now })
		w.updateBudgetStatus(p.Namespace)
	}
	w.runScheduler()
	return len(notReady) > 0
}

// updateBudgetStatus updates budgets as the disruption controller does.
func (w *simulatedCluster) updateBudgetStatus(namespace string) {
	for _, b := range w.budgetsIn(namespace) {
		c := budget.StatusInputs{Budget: b, Pods: w.view.InNamespace(namespace), Scale: w.desiredScale, Now: w.now}.ComputeStatus()
		q := *b
		q.ObservedGeneration, q.DisruptionsAllowed, q.CurrentHealthy = c.ObservedGeneration, c.DisruptionsAllowed, c.CurrentHealthy
		q.DesiredHealthy, q.ExpectedPods, q.Disrupted, q.DisruptedAt = c.DesiredHealthy, c.ExpectedPods, c.Disrupted, c.DisruptedAt
		if c.Failed() {
			q.SyncError = c.Message
		} else {
			q.SyncError = ""
		}
		w.putBudget(&q)
	}
}
