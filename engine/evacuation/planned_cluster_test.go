package evacuation

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/berthproject/berth/engine/budget"
	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/descheduling/planning"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement"
	"github.com/berthproject/berth/engine/placement/framework"
)

// workload is a controller with a number of replicas.
type workload struct {
	owner    model.Owner
	replicas int
	spec     *model.PodSpec
	labels   model.Labels
}

// testCluster is a random cluster with an API, controllers, a scheduler and kubelets, in virtual
// time, and a machine that executes plans on it. The machine's view may lag.
type testCluster struct {
	*rand.Rand
	t               *testing.T
	seed            uint64
	now             time.Time
	profile         map[string]*framework.Profile
	mode            planning.Mode
	withoutHolds    map[string]bool // schedulers that ignore Holds although mode is WithHolds
	lag             time.Duration   // maximum lag of the view
	injectFailures  bool            // actions fail occasionally, and pods are deleted
	undisturbed     bool            // no other actor changes the cluster
	randomPlacement bool            // the scheduler selects a random node that fits

	api           *cluster.State
	pods          map[string]*model.Pod
	workloads     []*workload
	changedAt     map[string]time.Time // when a pod was bound or began to terminate
	lastPodNumber int
	view          *View
	notifications []notification

	backoff  *planning.MoveBackoff
	m        *Planned
	counted  map[*Move]bool
	counts   map[Outcome]int
	failedAt map[planning.BackoffKey]time.Time // when a replacement last returned or stayed unscheduled
}

// notification is a change that the view has not received yet.
type notification struct {
	at    time.Time
	apply func(v *View)
}

const nodeMilliCPU = 4000 // of each node

// holdSupport states which schedulers of a cluster honor Holds.
type holdSupport int

const (
	holdsHonored holdSupport = iota // all honor Holds
	holdsIgnored                    // none honors Holds
	holdsMixed                      // the schedulers of every second workload ignore Holds
)

func (h holdSupport) String() string {
	return [...]string{"Holds honored", "Holds ignored", "mixed"}[h]
}

func newTestCluster(t *testing.T, seed uint64, support holdSupport) *testCluster {
	c := framework.DefaultConfig()
	p, err := framework.NewProfile(c)
	if err != nil {
		t.Fatal(err)
	}
	c.Name = "other"
	other, err := framework.NewProfile(c)
	if err != nil {
		t.Fatal(err)
	}
	w := &testCluster{Rand: rand.New(rand.NewPCG(seed, 6)), t: t, seed: seed, now: time.Unix(1e6, 0),
		profile: map[string]*framework.Profile{p.Name(): p, other.Name(): other}, api: cluster.New(), pods: map[string]*model.Pod{}, changedAt: map[string]time.Time{},
		view: NewView(cluster.New()), backoff: planning.NewMoveBackoff(), counted: map[*Move]bool{}, counts: map[Outcome]int{}, failedAt: map[planning.BackoffKey]time.Time{}}
	switch support {
	case holdsIgnored:
		w.mode = planning.WithoutHolds
	case holdsMixed:
		w.withoutHolds = map[string]bool{"other": true}
	}
	for i := range 3 + w.IntN(5) {
		n := &model.Node{Name: fmt.Sprint("n", i), Allocatable: model.Resources{MilliCPU: nodeMilliCPU, Memory: 1 << 34}, AllocatablePods: 20,
			Labels: model.LabelsOf(map[string]string{"kubernetes.io/hostname": fmt.Sprint("n", i), "zone": fmt.Sprint("z", i%2)})}
		w.notify(func(s *cluster.State, v *View) { s.UpsertNode(n) })
	}
	for i := range 2 + w.IntN(8) {
		w.addWorkload(i)
	}
	w.restart()
	w.randomPlacement = true
	for range 60 {
		w.tick()
	}
	w.randomPlacement = false
	return w
}

// addWorkload creates a workload. Half of the workloads get a budget.
func (w *testCluster) addWorkload(i int) {
	name := fmt.Sprint("w", i)
	spec := &model.PodSpec{SchedulerName: "default-scheduler", Priority: int32(w.IntN(3)), ImageContainers: 1,
		Requests: model.Resources{MilliCPU: int64(100 * (1 + w.IntN(12))), Memory: 1 << 28}}
	spec.Scoring = spec.Requests
	if len(w.withoutHolds) > 0 && i%2 == 1 {
		spec.SchedulerName = "other"
	}
	kind := "ReplicaSet"
	if w.IntN(4) == 0 {
		kind = "StatefulSet"
	}
	l := &workload{owner: model.Owner{APIVersion: "apps/v1", Kind: kind, Name: name, UID: name}, replicas: 1 + w.IntN(5), spec: spec,
		labels: model.LabelsOf(map[string]string{"app": name, "tier": fmt.Sprint("t", i%2)})}
	if w.IntN(4) == 0 {
		spec.AntiAffinity = []model.PodAffinityTerm{{Selector: selectorFor("app", name), TopologyKey: "kubernetes.io/hostname", Namespaces: []string{"x"}}}
	}
	w.workloads = append(w.workloads, l)
	if w.IntN(2) == 0 {
		return
	}
	selector := selectorFor("app", name)
	if w.IntN(2) == 0 {
		selector = selectorFor("tier", fmt.Sprint("t", i%2))
	}
	b := &model.Budget{Namespace: "x", Name: "b-" + name, Selector: selector, Generation: 1, ObservedGeneration: 1,
		MaxUnavailable: model.IntOrPercent{Set: true, Value: int32(w.IntN(2))}}
	w.notify(func(s *cluster.State, v *View) { s.UpsertBudget(b) })
}

func selectorFor(key, value string) *model.Selector {
	return &model.Selector{Requirements: []model.Requirement{{Key: key, Op: model.In, Values: []string{value}}}}
}

// restart creates a new machine, as after a crash.
func (w *testCluster) restart() {
	w.m = NewPlanned(w.view, PlanOptions{Holds: true, Profiles: w.profile, Seed: w.seed, Backoff: w.backoff})
}

// notify applies a change that the view receives later.
func (w *testCluster) notify(f func(s *cluster.State, v *View)) {
	f(w.api, nil)
	at := w.now
	if w.lag > 0 {
		at = at.Add(time.Duration(w.Int64N(int64(w.lag))))
	}
	if n := len(w.notifications); n > 0 && w.notifications[n-1].at.After(at) {
		at = w.notifications[n-1].at
	}
	w.notifications = append(w.notifications, notification{at, func(v *View) { f(v.State, v) }})
}

func (w *testCluster) deliver() {
	for len(w.notifications) > 0 && !w.notifications[0].at.After(w.now) {
		w.notifications[0].apply(w.view)
		w.notifications = w.notifications[1:]
	}
}

func (w *testCluster) putPod(p *model.Pod) {
	w.pods[p.UID] = p
	w.notify(func(s *cluster.State, v *View) {
		s.UpsertPod(p)
		if v != nil {
			v.Upsert(p)
		}
	})
}

func (w *testCluster) removePod(p *model.Pod) {
	delete(w.pods, p.UID)
	w.notify(func(s *cluster.State, v *View) {
		s.RemovePod(p.UID)
		if v != nil {
			v.Remove(p.UID)
		}
	})
}

// allPods returns the pods, sorted by UID.
func (w *testCluster) allPods() []*model.Pod {
	var out []*model.Pod
	for _, uid := range slices.Sorted(maps.Keys(w.pods)) {
		out = append(out, w.pods[uid])
	}
	return out
}

// step advances everything but the machine by one second.
func (w *testCluster) step() {
	w.now = w.now.Add(time.Second)
	w.api.ExpireHolds(w.now.Add(-time.Minute)) // the displacement records controller deletes expired Holds with a delay
	w.runControllers()
	w.runScheduler()
	w.runKubelets()
	w.updateBudgets()
	w.deliver()
}

// tick advances the cluster and the machine by one second.
func (w *testCluster) tick() {
	w.step()
	for range 20 {
		actions, _ := w.m.Step(w.now)
		for _, a := range actions {
			w.execute(a)
		}
		if w.injectFailures && len(actions) > 0 && w.IntN(4) == 0 { // before the view has the results
			w.deleteRandomPod()
		}
		if w.deliver(); len(actions) == 0 {
			break
		}
	}
	w.countOutcomes()
}

// runControllers creates missing pods and deletes excess pods.
func (w *testCluster) runControllers() {
	for _, l := range w.workloads {
		names, n := map[string]bool{}, 0
		for _, p := range w.allPods() {
			if p.Owner != l.owner {
				continue
			}
			names[p.Name] = true
			if !p.Deleting {
				if n++; n > l.replicas {
					w.deletePod(p)
				}
			}
		}
		for i := 0; n < l.replicas; i++ {
			w.lastPodNumber++
			p := &model.Pod{Namespace: "x", Name: fmt.Sprint(l.owner.Name, "-", w.lastPodNumber), UID: fmt.Sprint("u", w.lastPodNumber), Labels: l.labels, Spec: l.spec,
				Owner: l.owner, Created: w.now, Phase: model.Pending}
			if l.owner.Kind == "StatefulSet" {
				if p.Name = fmt.Sprint(l.owner.Name, "-", i); i >= l.replicas {
					break
				}
				if names[p.Name] {
					continue
				}
			}
			w.putPod(p)
			n++
		}
	}
}

// runScheduler schedules pending pods. If Holds are ignored, it selects at random among equal
// nodes.
func (w *testCluster) runScheduler() {
	for _, p := range w.allPods() {
		if p.NodeName != "" || p.Deleting {
			continue
		}
		s, ignoresHolds := w.api, w.mode == planning.WithoutHolds || w.withoutHolds[p.Spec.SchedulerName]
		if ignoresHolds {
			s = s.Fork()
			for _, h := range s.Holds() {
				s.RemoveHold(h.Namespace, h.Name)
			}
		}
		rec := placement.Evaluate(s, w.profile[p.Spec.SchedulerName], w.seed, p)
		if rec.Choice == "" {
			continue
		}
		q := *p
		q.NodeName = rec.Choice
		if ignoresHolds && len(rec.Top) > 0 {
			q.NodeName = rec.Top[w.IntN(len(rec.Top))]
		}
		for w.randomPlacement {
			if n := &rec.Nodes[w.IntN(len(rec.Nodes))]; n.Verdict.IsSuccess() {
				q.NodeName = n.Name
				break
			}
		}
		w.changedAt[p.UID] = w.now
		w.putPod(&q)
	}
}

// runKubelets starts and terminates pods.
func (w *testCluster) runKubelets() {
	for _, p := range w.allPods() {
		d := w.now.Sub(w.changedAt[p.UID])
		switch {
		case p.Deleting && (p.NodeName == "" || d > time.Duration(p.GraceSeconds)*time.Second):
			w.removePod(p)
		case !p.Deleting && p.NodeName != "" && !p.Ready && d > time.Duration(1+w.IntN(9))*time.Second:
			q := *p
			q.Ready, q.Phase = true, model.Running
			w.putPod(&q)
		}
	}
}

// deletePod marks a pod as terminating.
func (w *testCluster) deletePod(p *model.Pod) {
	q := *p
	q.Deleting, q.GraceSeconds = true, int64(w.IntN(6))
	if w.IntN(6) == 0 {
		q.GraceSeconds = 100 // longer than the time between plans
	}
	w.changedAt[p.UID] = w.now
	w.putPod(&q)
}

func (w *testCluster) updateBudgets() {
	for _, b := range w.api.AllBudgets() {
		scale := func(o model.Owner) budget.Scale {
			i := slices.IndexFunc(w.workloads, func(l *workload) bool { return l.owner == o })
			return budget.Scale{UID: o.UID, Replicas: int32(w.workloads[i].replicas)}
		}
		c := budget.StatusInputs{Budget: b, Pods: w.allPods(), Scale: scale, Now: w.now}.ComputeStatus()
		n := *b
		n.DisruptionsAllowed, n.CurrentHealthy, n.DesiredHealthy, n.ExpectedPods = c.DisruptionsAllowed, c.CurrentHealthy, c.DesiredHealthy, c.ExpectedPods
		n.Disrupted, n.DisruptedAt = c.Disrupted, c.DisruptedAt
		w.notify(func(s *cluster.State, v *View) { s.UpsertBudget(&n) })
	}
}
