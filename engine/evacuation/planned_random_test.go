package evacuation

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/berthproject/berth/engine/budget"
	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/descheduling"
	"github.com/berthproject/berth/engine/descheduling/planning"
	"github.com/berthproject/berth/engine/model"
)

// execute executes an action as an API server would.
func (w *testCluster) execute(a Action) {
	fails := w.injectFailures && w.IntN(8) == 0
	if fails && w.IntN(2) == 0 {
		w.m.HandleResult(w.now, a.ID, Result{Message: "the API server cannot be reached"})
		return
	}
	result := Result{Done: true}
	switch a.Kind {
	case Reserve:
		w.checkHold(a.Move)
		w.upsertHold(a.Hold)
	case Avoid:
		w.upsertHold(a.Hold)
	case Release:
		w.notify(func(s *cluster.State, v *View) { s.RemoveHold(a.Hold.Namespace, a.Hold.Name) })
	case Evict:
		result = w.evict(a.Move)
	}
	if fails {
		result = Result{Message: "no answer in time"}
	}
	w.deliver()
	w.m.HandleResult(w.now, a.ID, result)
}

func (w *testCluster) upsertHold(h *model.Hold) {
	created := *h
	created.Created = w.now
	w.notify(func(s *cluster.State, v *View) { s.UpsertHold(&created) })
}

// evict responds as the eviction API does and checks the pacing.
func (w *testCluster) evict(x *Move) Result {
	p := w.pods[x.Pod.UID]
	if p == nil || p.Deleting {
		return Result{Done: true}
	}
	v := budget.Evictions{Recount: true}.Check(p, w.api.Budgets("x"), w.allPods(), w.now)
	if v.Result != budget.Granted {
		if w.lag == 0 {
			w.t.Errorf("seed %d: WithinBudget: the eviction of %s is requested: %s", w.seed, p.Key(), v.Reason)
		}
		return Result{Message: v.Reason}
	}
	w.checkPacing(p)
	if at, ok := w.failedAt[planning.MoveKey(x.Planned)]; ok && w.now.Sub(at) < w.backoff.Initial {
		w.t.Errorf("seed %d: NotFutile: %s is evicted, although a move of its workload failed at %v", w.seed, p.Key(), at)
	}
	for _, b := range v.Debits {
		d := budget.Debit(b, p, w.now)
		w.notify(func(s *cluster.State, v *View) { s.UpsertBudget(d) })
	}
	w.deletePod(p)
	return Result{Done: true}
}

// checkPacing checks that the other pods of a workload exist and are Ready when one of its pods is
// evicted.
func (w *testCluster) checkPacing(p *model.Pod) {
	existing, want := 0, 0
	for _, l := range w.workloads {
		if l.owner == p.Owner {
			want = l.replicas
		}
	}
	for _, q := range w.allPods() {
		if q.Owner != p.Owner || q.Deleting {
			continue
		}
		if existing++; q.UID != p.UID && !q.Ready && w.now.Sub(q.Created) < w.m.o.Timeouts.Ready && w.lag == 0 {
			w.t.Errorf("seed %d: OnePerWorkload: %s is evicted while %s is not Ready", w.seed, p.Key(), q.Key())
		}
	}
	if w.undisturbed && existing < want {
		w.t.Errorf("seed %d: OnePerWorkload: %s is evicted while %d of %d pods exist", w.seed, p.Key(), existing, want)
	}
}

// checkHold checks that a Hold is for a pod that may be evicted and that the reserved resources
// are free.
func (w *testCluster) checkHold(x *Move) {
	if w.lag > 0 || x.Stage > Holding { // an extension
		return
	}
	p := w.pods[x.Pod.UID]
	if v := (budget.Evictions{Recount: true}).Check(p, w.api.Budgets("x"), w.allPods(), w.now); v.Result != budget.Granted {
		w.t.Errorf("seed %d: WithinBudget: a node is reserved for %s: %s", w.seed, p.Key(), v.Reason)
	}
	id, _ := w.api.NodeID(x.Planned.To)
	if all := w.api.Node(id).Used.MilliCPU + w.reservedCPU()[x.Planned.To]; all > nodeMilliCPU {
		w.t.Errorf("seed %d: NotOvercommitted: with %s, %d millicores are reserved on %s, which has %d", w.seed, p.Key(), all, x.Planned.To, nodeMilliCPU)
	}
}

func (w *testCluster) countOutcomes() {
	for _, x := range w.m.Moves() {
		if x.Stage == Finished && !w.counted[x] {
			w.counted[x] = true
			w.counts[x.Outcome]++
			if x.Outcome == Returned || x.Outcome == Unscheduled {
				w.failedAt[planning.MoveKey(x.Planned)] = w.now
			}
		}
	}
}

// reservedCPU returns what the moves in progress will use on each node.
func (w *testCluster) reservedCPU() map[string]int64 {
	out := map[string]int64{}
	for _, x := range w.m.Moves() {
		if x.inProgress() && x.Stage < Placed && (x.Replacement == nil || w.pods[x.Replacement.UID] == nil || w.pods[x.Replacement.UID].NodeName == "") {
			out[x.Planned.To] += x.Pod.Spec.Requests.MilliCPU
		}
	}
	return out
}

// checkCapacity checks that no node has more reserved than allocatable cpu.
func (w *testCluster) checkCapacity() {
	reserved := w.reservedCPU()
	for _, id := range w.api.NodeIDs() {
		n := w.api.Node(id)
		if all := n.Used.MilliCPU + reserved[n.Model.Name]; all > nodeMilliCPU {
			w.t.Errorf("seed %d: NotOvercommitted: %d millicores are reserved on %s, which has %d", w.seed, all, n.Model.Name, nodeMilliCPU)
		}
	}
}

// plan plans the proposals of a random strategy: random pods, without a goal or to reduce the pods
// of a node. The view may change after the machine's last Step.
func (w *testCluster) plan() {
	for range w.IntN(4) {
		w.step()
	}
	s := w.view.State
	snap := &descheduling.Snapshot{Now: w.now}
	var all []*descheduling.Candidate
	for _, id := range s.NodeIDs() {
		n := &descheduling.Node{Node: s.Node(id).Model}
		for _, p := range s.Node(id).Pods {
			n.Pods = append(n.Pods, &descheduling.Pod{Pod: p, Details: &descheduling.PodDetails{}})
		}
		snap.Nodes = append(snap.Nodes, n)
	}
	inProgress := w.m.InProgress()
	snap.ApplyInProgress(inProgress)
	w.checkOneMovePerPod(snap)
	for _, n := range snap.Nodes {
		for _, q := range n.Pods {
			if !q.Expected {
				all = append(all, &descheduling.Candidate{Pod: q, Node: n})
			}
		}
	}
	p := planning.New(snap, s, planning.Options{Now: w.now, Mode: w.mode, SchedulersWithoutHolds: w.withoutHolds, InProgress: inProgress, Profiles: w.profile, Seed: w.seed, Backoff: w.backoff})
	w.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	for _, c := range all[:len(all)/2] {
		if w.IntN(2) == 0 {
			c.Gain = func(to *descheduling.Node) descheduling.Gain {
				return descheduling.Gain{Before: int64(len(c.Node.Pods)), After: int64(len(to.Pods)) + 1, Metric: "pods"}
			}
		}
		p.Move(fmt.Sprint("S", w.IntN(2)), "p", c)
	}
	w.m.SetPlan(w.now, p.Plan())
}

// checkOneMovePerPod checks that a pod and its replacement are not both expected; the workload
// would exceed its replicas.
func (w *testCluster) checkOneMovePerPod(snap *descheduling.Snapshot) {
	if !w.undisturbed {
		return
	}
	expected := map[model.Owner]int{}
	for _, n := range snap.Nodes {
		for _, p := range n.Pods {
			expected[p.Owner]++
		}
	}
	for _, l := range w.workloads {
		if expected[l.owner] > l.replicas {
			w.t.Errorf("seed %d: NotOvercommitted: %d pods of %s are expected, want %d", w.seed, expected[l.owner], l.owner.Name, l.replicas)
		}
	}
}

// runPlans makes 2n plans and advances time until all moves have ended. Every second plan arrives
// in the middle of the first.
func (w *testCluster) runPlans(n int, afterTick func()) {
	for i := range 2 * n {
		w.plan()
		pause := 1 + w.IntN(8)
		if i%2 == 1 {
			pause = 40 - pause
		}
		for range pause {
			w.tick()
			if afterTick != nil {
				afterTick()
			}
		}
	}
	for i := 0; w.m.HasInProgress() || w.anyReservation() != nil; i++ {
		if w.tick(); i > 900 { // longer than every timeout
			w.t.Fatalf("seed %d: HoldsEnd: Hold %v remains, or a move does not end", w.seed, w.anyReservation())
		}
	}
}

// anyReservation returns a Hold of type Reserve, or nil.
func (w *testCluster) anyReservation() *model.Hold {
	for _, h := range w.api.Holds() {
		if h.Type == model.Reserve {
			return h
		}
	}
	return nil
}

// seeds returns n, or fifty times as many with BERTH_SOAK.
func seeds(n uint64) uint64 {
	if os.Getenv("BERTH_SOAK") != "" {
		return 50 * n
	}
	return n
}

func addCounts(sum, counts map[Outcome]int) {
	for o, n := range counts {
		sum[o] += n
	}
}

// TestNoFutileMovesWithoutOtherActors checks that, without other actors, no pod returns and each
// pod runs on its planned node.
func TestNoFutileMovesWithoutOtherActors(t *testing.T) {
	for _, support := range []holdSupport{holdsHonored, holdsIgnored, holdsMixed} {
		sum := map[Outcome]int{}
		for seed := range seeds(20) {
			w := newTestCluster(t, seed, support)
			w.undisturbed = true
			w.runPlans(4, w.checkCapacity)
			addCounts(sum, w.counts)
			if n := w.counts[Returned] + w.counts[PlacedElsewhere] + w.counts[Unscheduled] + w.counts[NotReady] + w.counts[NotReplaced]; n > 0 {
				t.Errorf("seed %d, %s: NotFutile: outcomes %v, want only %q, %q and %q", seed, support, w.counts, Moved, CleanedUp, Abandoned)
			}
		}
		t.Logf("soak: %s: %v", support, sum)
		if sum[Moved] < 50 {
			t.Errorf("%s: %d moves succeeded, want at least 50: %v", support, sum[Moved], sum)
		}
	}
}

// disturb lets other actors scale workloads, create important pods, cordon nodes and delete pods.
func (w *testCluster) disturb() {
	switch w.IntN(12) {
	case 0:
		l := w.workloads[w.IntN(len(w.workloads))]
		l.replicas = max(1, l.replicas+w.IntN(3)-1)
	case 1:
		w.lastPodNumber++
		uid := fmt.Sprint("u", w.lastPodNumber)
		spec := &model.PodSpec{SchedulerName: "default-scheduler", Priority: int32(w.IntN(5)), ImageContainers: 1,
			Requests: model.Resources{MilliCPU: int64(100 * (1 + w.IntN(20)))}}
		w.putPod(&model.Pod{Namespace: "x", Name: uid, UID: uid, Spec: spec, Created: w.now, Phase: model.Pending})
	case 2:
		ids := w.api.NodeIDs()
		n := *w.api.Node(ids[w.IntN(len(ids))]).Model
		n.Unschedulable = !n.Unschedulable
		w.notify(func(s *cluster.State, v *View) { s.UpsertNode(&n) })
	case 3, 4:
		w.deleteRandomPod()
	case 5:
		if w.injectFailures && w.IntN(4) == 0 {
			w.restart()
		}
	}
}

// deleteRandomPod deletes a random pod unless it is terminating.
func (w *testCluster) deleteRandomPod() {
	all := w.allPods()
	if p := all[w.IntN(len(all))]; !p.Deleting {
		w.deletePod(p)
	}
}

// TestInvariantsWithOtherActors checks invariants with other actors, a lagging view and a failing API. Budgets and
// pacing are respected, no move is retried too early, and no Hold remains, not even after a crash.
func TestInvariantsWithOtherActors(t *testing.T) {
	sum := map[Outcome]int{}
	for seed := range seeds(40) {
		w := newTestCluster(t, seed, holdSupport(seed%3))
		w.injectFailures = seed%4 > 0
		if seed%4 == 2 {
			w.lag = 3 * time.Second
		}
		w.runPlans(4, w.disturb)
		addCounts(sum, w.counts)
	}
	t.Logf("soak: %v", sum)
	for _, o := range []Outcome{Moved, Abandoned, PlacedElsewhere} {
		if sum[o] == 0 {
			t.Errorf("no move has the outcome %q: %v", o, sum)
		}
	}
}
