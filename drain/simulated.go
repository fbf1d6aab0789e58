package drain

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/berthproject/berth/engine/budget"
	"github.com/berthproject/berth/engine/descheduling/planning"
	"github.com/berthproject/berth/engine/evacuation"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/scheduling"
)

// simulatedCluster simulates a cluster: owners replace pods, the scheduler's machine schedules
// them, and scheduled pods become Ready. Requests complete at once. Each scheduler step takes
// schedulerStep, and each eviction, removal and surge takes timing.stepDuration. Otherwise time
// advances only to the end of the next backoff or timeout.
type simulatedCluster struct {
	now     time.Time
	machine *scheduling.Machine
	view    *evacuation.View
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

// schedulerStep is the simulated duration of a scheduler step.
const schedulerStep = time.Millisecond

func newSimulatedCluster(now time.Time, cfg scheduling.Config, objects []any, scale func(model.Owner) budget.Scale) *simulatedCluster {
	sc := &simulatedCluster{now: now, machine: scheduling.New(cfg), scale: scale, surged: map[string]int32{}, budgets: map[string]map[string]*model.Budget{}}
	sc.view = evacuation.NewView(sc.machine.State())
	for _, o := range objects {
		switch o := o.(type) {
		case *model.Pod:
			sc.put(o)
			if o.Deleting {
				sc.terminating = append(sc.terminating, o)
			}
		case *model.Budget:
			sc.putBudget(o)
		default:
			sc.events = append(sc.events, o)
		}
	}
	return sc
}

func (sc *simulatedCluster) putBudget(b *model.Budget) {
	if sc.budgets[b.Namespace] == nil {
		sc.budgets[b.Namespace] = map[string]*model.Budget{}
	}
	sc.budgets[b.Namespace][b.Name] = b
	sc.events = append(sc.events, b)
}

func (sc *simulatedCluster) budgetsIn(namespace string) []*model.Budget {
	out := slices.Collect(maps.Values(sc.budgets[namespace]))
	slices.SortFunc(out, func(a, b *model.Budget) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

func (sc *simulatedCluster) put(p *model.Pod) {
	sc.view.Upsert(p)
	sc.events = append(sc.events, p)
}

// change updates an existing pod.
func (sc *simulatedCluster) change(uid string, f func(*model.Pod)) *model.Pod {
	p := sc.view.Pod(uid)
	if p == nil {
		return nil
	}
	q := *p
	f(&q)
	sc.put(&q)
	return &q
}

func (sc *simulatedCluster) cordon(nodes []string) {
	for _, name := range nodes {
		id, ok := sc.view.State.NodeID(name)
		if !ok {
			continue
		}
		n := *sc.view.State.Node(id).Model
		n.Unschedulable = true
		if !slices.Contains(n.Taints, evacuation.Unschedulable) {
			n.Taints = append(slices.Clone(n.Taints), evacuation.Unschedulable)
		}
		sc.events = append(sc.events, &n)
	}
	sc.runScheduler()
}

// Limits of a simulation, in scheduler steps and replacements per pod, beyond which it counts
// as a preemption loop.
const (
	maxSchedulerSteps     = 100_000
	maxReplacementsPerPod = 2
)

// runScheduler runs the scheduler until it is idle and terminates pods that nominated pods
// wait for.
func (sc *simulatedCluster) runScheduler() {
	limit := sc.serial + 100 + maxReplacementsPerPod*sc.view.Len()
	for range maxSchedulerSteps {
		if sc.serial > limit {
			break
		}
		events := sc.events
		sc.events = nil
		sc.now = sc.now.Add(schedulerStep)
		effects, wake := sc.machine.Step(sc.now, events, 64)
		for _, e := range slices.Clone(effects) {
			sc.applyEffect(e)
		}
		d := sc.machine.Depths()
		switch {
		case len(sc.events) > 0:
		case d.Active+d.Backoff > 0 && wake.After(sc.now):
			sc.now = wake
		case d.Active+d.Backoff > 0:
		case sc.terminateForNominated():
		default:
			return
		}
	}
	sc.preemptionLoop = true
}

// terminateForNominated ends a terminating pod that a nominated pod waits for; it reports
// whether there is one.
func (sc *simulatedCluster) terminateForNominated() bool {
	var next []*model.Pod
	for _, p := range sc.view.Pending() {
		for _, v := range sc.terminating {
			if p.NominatedNodeName != "" && v.NodeName == p.NominatedNodeName {
				next = append(next, v)
			}
		}
	}
	if len(next) == 0 {
		return false
	}
	sc.removePod(next[sc.timing.pickTerminated(len(next))])
	return true
}

// evict decides as the eviction API does. A pod with a surge pod is not replaced.
func (sc *simulatedCluster) evict(p, replacement *model.Pod) (ok bool, message string) {
	sc.now = sc.now.Add(sc.timing.stepDuration) // so that later pods are queued later
	current := sc.view.Pod(p.UID)
	if current == nil {
		return true, ""
	}
	verdict := budget.Evictions{Recount: true}.Check(current, sc.budgetsIn(current.Namespace), sc.view.InNamespace(current.Namespace), sc.now)
	if verdict.Result != budget.Granted {
		return false, verdict.Reason
	}
	for _, b := range verdict.Debits {
		sc.putBudget(budget.Debit(b, current, sc.now))
	}
	sc.deletePod(current, "EvictionByEvictionAPI", replacement == nil || sc.view.Pod(replacement.UID) == nil)
	sc.runScheduler()
	return true, ""
}

// deletePod marks a pod as terminating and lets its owner replace it.
func (sc *simulatedCluster) deletePod(p *model.Pod, reason string, replaced bool) {
	q := sc.change(p.UID, func(p *model.Pod) { p.Deleting, p.DisruptionReason = true, reason })
	if q == nil || p.Deleting {
		return
	}
	if q.NodeName == "" {
		sc.removePod(q)
		return
	}
	sc.terminating = append(sc.terminating, q)
	if replaced && q.Owner.Kind != "StatefulSet" {
		sc.replacePod(q)
	}
}

// removePod removes a pod that has terminated. A StatefulSet replaces its pod only now.
func (sc *simulatedCluster) removePod(p *model.Pod) {
	sc.terminating = slices.DeleteFunc(sc.terminating, func(q *model.Pod) bool { return q.UID == p.UID })
	if sc.view.Pod(p.UID) == nil {
		return
	}
	sc.now = sc.now.Add(sc.timing.stepDuration)
	sc.view.Remove(p.UID)
	sc.events = append(sc.events, scheduling.Remove{Object: p})
	if p.Owner.Kind == "StatefulSet" {
		sc.replacePod(p)
	}
	sc.updateBudgetStatus(p.Namespace)
}

// replacePod creates a replacement if the owner needs one.
func (sc *simulatedCluster) replacePod(p *model.Pod) {
	if p.Owner.UID == "" {
		return
	}
	if s := sc.desiredScale(p.Owner); s.Fault == "" && sc.countActive(p.Owner) >= int(s.Replicas) {
		return
	}
	sc.serial++
	name := p.Name
	if p.Owner.Kind != "StatefulSet" {
		name += "-replacement-" + strconv.Itoa(sc.serial)
	}
	q := planning.ExpectedReplacement(p, "")
	q.Name, q.UID, q.Created = name, "preview/"+strconv.Itoa(sc.serial)+"/"+p.UID, sc.now
	sc.recreateClaims(p, q)
	sc.put(q)
}

// countActive returns the number of pods of an owner that are not terminating.
func (sc *simulatedCluster) countActive(o model.Owner) int {
	return len(slices.DeleteFunc(sc.view.OwnedBy(o), func(p *model.Pod) bool { return p.Deleting }))
}

// desiredScale returns the desired number of pods of an owner.
func (sc *simulatedCluster) desiredScale(o model.Owner) budget.Scale {
	s := sc.scale(o)
	s.Replicas += sc.surged[o.UID]
	return s
}

// surge changes the number of desired pods of an owner by delta.
func (sc *simulatedCluster) surge(p *model.Pod, delta int32) {
	sc.now = sc.now.Add(sc.timing.stepDuration)
	sc.surged[p.Owner.UID] += delta
	if delta > 0 {
		q := *p
		if q.Owner.Kind == "StatefulSet" {
			q.Name += "-surge"
		}
		sc.replacePod(&q)
	} else if extra := sc.leastReady(p.Owner); extra != nil && sc.countActive(p.Owner) > int(sc.desiredScale(p.Owner).Replicas) {
		sc.deletePod(extra, "", true)
	}
	sc.updateBudgetStatus(p.Namespace)
	sc.runScheduler()
}

// leastReady returns the pod that an owner with too many pods deletes. It is the surge pod of a
// StatefulSet, else an unscheduled pod, one that is not Ready, or the youngest.
func (sc *simulatedCluster) leastReady(o model.Owner) *model.Pod {
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
	for _, p := range sc.view.OwnedBy(o) {
		if !p.Deleting && (least == nil || rank(p) <= rank(least)) {
			least = p
		}
	}
	return least
}

// recreateClaims creates the generated claims of q, the replacement of p.
func (sc *simulatedCluster) recreateClaims(p, q *model.Pod) {
	if q.Name == p.Name || !slices.ContainsFunc(p.Spec.Claims, func(c model.PodClaim) bool { return c.Ephemeral }) {
		return
	}
	s := *q.Spec
	s.Claims = slices.Clone(s.Claims)
	for i := range s.Claims {
		c := &s.Claims[i]
		existing, ok := sc.view.State.PVC(p.Namespace, c.Claim)
		if !c.Ephemeral || !ok {
			continue
		}
		c.Claim = q.Name + "-" + c.Volume
		claim := *existing
		claim.Name, claim.UID, claim.VolumeName, claim.Bound, claim.HasSelectedNode, claim.SelectedNode = c.Claim, q.UID+"/"+c.Volume, "", false, false, ""
		claim.Owner = model.Owner{APIVersion: "v1", Kind: "Pod", Name: q.Name, UID: q.UID}
		sc.events = append(sc.events, &claim)
	}
	q.Spec = &s
}

// advance terminates a pod or, if none terminates, makes pods Ready. It reports whether a pod
// changed.
func (sc *simulatedCluster) advance(ready func(*model.Pod) bool) bool {
	return sc.terminateNext() || sc.markReady(ready)
}

// terminateNext removes a terminating pod and reports whether there was one.
func (sc *simulatedCluster) terminateNext() bool {
	if len(sc.terminating) == 0 {
		return false
	}
	sc.removePod(sc.terminating[sc.timing.pickTerminated(len(sc.terminating))])
	sc.runScheduler()
	return true
}

// markReady makes pods Ready and reports whether there were any.
func (sc *simulatedCluster) markReady(ready func(*model.Pod) bool) bool {
	var notReady []*model.Pod
	for _, p := range sc.view.All() {
		if p.NodeName != "" && !p.Ready && !p.Deleting && ready(p) {
			notReady = append(notReady, p)
		}
	}
	slices.SortFunc(notReady, func(a, b *model.Pod) int { return cmp.Or(cmp.Compare(a.Key(), b.Key()), cmp.Compare(a.UID, b.UID)) })
	for _, p := range notReady {
		sc.change(p.UID, func(p *model.Pod) { p.Ready, p.Phase, p.Started = true, model.Running, sc.now })
		sc.updateBudgetStatus(p.Namespace)
	}
	sc.runScheduler()
	return len(notReady) > 0
}

// updateBudgetStatus updates budgets as the disruption controller does.
func (sc *simulatedCluster) updateBudgetStatus(namespace string) {
	for _, b := range sc.budgetsIn(namespace) {
		c := budget.StatusInputs{Budget: b, Pods: sc.view.InNamespace(namespace), Scale: sc.desiredScale, Now: sc.now}.ComputeStatus()
		q := *b
		q.ObservedGeneration, q.DisruptionsAllowed, q.CurrentHealthy = c.ObservedGeneration, c.DisruptionsAllowed, c.CurrentHealthy
		q.DesiredHealthy, q.ExpectedPods, q.Disrupted, q.DisruptedAt = c.DesiredHealthy, c.ExpectedPods, c.Disrupted, c.DisruptedAt
		if c.Failed() {
			q.SyncError = c.Message
		} else {
			q.SyncError = ""
		}
		sc.putBudget(&q)
	}
}
