package execution

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

// do executes an action as an API server would.
func (w *testCluster) do(a Action) {
	fails := w.flaky && w.IntN(8) == 0
	if fails && w.IntN(2) == 0 {
		w.m.HandleResult(w.now, a.ActionID(), Result{Message: "the API server cannot be reached"})
		return
	}
	result := Result{Done: true}
	switch a := a.(type) {
	case Reserve:
		w.checkHold(a.Move)
		w.hold(a.Hold)
	case Avoid:
		w.hold(a.Hold)
	case Release:
		w.notify(func(s *cluster.State, v *View) { s.RemoveHold(a.Hold.Namespace, a.Hold.Name) })
	case Evict:
		result = w.evict(a.Move)
	}
	if fails {
		result = Result{Message: "no answer in time"}
	}
	w.deliver()
	w.m.HandleResult(w.now, a.ActionID(), result)
}

func (w *testCluster) hold(h *model.Hold) {
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
	if at, ok := w.futile[planning.MoveKey(x.Move)]; ok && w.now.Sub(at) < w.memory.Initial {
		w.t.Errorf("seed %d: NotFutile: %s is evicted, although a pod of its workload returned at %v", w.seed, p.Key(), at)
	}
	for _, b := range v.Debits {
		d := budget.Debit(b, p, w.now)
		w.notify(func(s *cluster.State, v *View) { s.UpsertBudget(d) })
	}
	w.deletePod(p)
	return Result{Done: true}
}

// checkPacing checks that the rest of a workload exists and is Ready when one of its pods is
// evicted.
func (w *testCluster) checkPacing(p *model.Pod) {
	alive, want := 0, 0
	for _, l := range w.workloads {
		if l.owner == p.Owner {
			want = l.replicas
		}
	}
	for _, q := range w.allPods() {
		if q.Owner != p.Owner || q.Deleting {
			continue
		}
		if alive++; q.UID != p.UID && !q.Ready && w.now.Sub(q.Created) < w.m.o.Timeouts.Ready && w.lag == 0 {
			w.t.Errorf("seed %d: OnePerWorkload: %s is evicted while %s is not Ready", w.seed, p.Key(), q.Key())
		}
	}
	if w.quiet && alive < want {
		w.t.Errorf("seed %d: OnePerWorkload: %s is evicted while %d of %d pods exist", w.seed, p.Key(), alive, want)
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
	id, _ := w.api.NodeID(x.To)
	if all := w.api.Node(id).Used.MilliCPU + w.reservedCPU()[x.To]; all > cores {
		w.t.Errorf("seed %d: NotOvercommitted: with %s, %d millicores are reserved on %s, which has %d", w.seed, p.Key(), all, x.To, cores)
	}
}

// watch counts the results of moves.
func (w *testCluster) watch() {
	for _, x := range w.m.Moves() {
		if x.Stage == Finished && !w.seen[x] {
			w.seen[x] = true
			w.counts[x.Outcome]++
			if x.Outcome == Returned || x.Outcome == Unscheduled {
				w.futile[planning.MoveKey(x.Move)] = w.now
			}
		}
	}
}

// reservedCPU returns what the moves in progress will use on each node.
func (w *testCluster) reservedCPU() map[string]int64 {
	out := map[string]int64{}
	for _, x := range w.m.Moves() {
		if x.inProgress() && x.Stage < Placed && (x.Replacement == nil || w.pods[x.Replacement.UID] == nil || w.pods[x.Replacement.UID].NodeName == "") {
			out[x.To] += x.Pod.Spec.Requests.MilliCPU
		}
	}
	return out
}

// checkCapacity checks that no node has more reserved than allocatable cpu.
func (w *testCluster) checkCapacity() {
	promised := w.reservedCPU()
	for _, id := range w.api.NodeIDs() {
		n := w.api.Node(id)
		if all := n.Used.MilliCPU + promised[n.Model.Name]; all > cores {
			w.t.Errorf("seed %d: NotOvercommitted: %d millicores are reserved on %s, which has %d", w.seed, all, n.Model.Name, cores)
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
	inProgress := w.m.InProgress(w.view)
	snap.ApplyInProgress(inProgress)
	w.checkOneMovePerPod(snap)
	for _, n := range snap.Nodes {
		for _, q := range n.Pods {
			if !q.Expected {
				all = append(all, &descheduling.Candidate{Pod: q, Node: n})
			}
		}
	}
	p := planning.New(snap, s, planning.Options{Now: w.now, Mode: w.mode, SchedulersWithoutHolds: w.others, InProgress: inProgress, Profiles: w.profile, Seed: w.seed, Backoff: w.memory})
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
	if !w.quiet {
		return
	}
	seen := map[model.Owner]int{}
	for _, n := range snap.Nodes {
		for _, p := range n.Pods {
			seen[p.Owner]++
		}
	}
	for _, l := range w.workloads {
		if seen[l.owner] > l.replicas {
			w.t.Errorf("seed %d: NotOvercommitted: %d pods of %s are expected, want %d", w.seed, seen[l.owner], l.owner.Name, l.replicas)
		}
	}
}

// rounds plans and advances time until all moves have ended. The second of two plans arrives in
// the middle of the first.
func (w *testCluster) rounds(n int, each func()) {
	for i := range 2 * n {
		w.plan()
		pause := 1 + w.IntN(8)
		if i%2 == 1 {
			pause = 40 - pause
		}
		for range pause {
			w.tick()
			if each != nil {
				each()
			}
		}
	}
	for i := 0; w.m.HasInProgress() || w.reserved() != nil; i++ {
		if w.tick(); i > 900 { // longer than every timeout
			w.t.Fatalf("seed %d: HoldsEnd: %v remains, or a move does not end", w.seed, w.reserved())
		}
	}
}

// reserved returns a remaining reservation, or nil.
func (w *testCluster) reserved() *model.Hold {
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

func add(sum, counts map[Outcome]int) {
	for o, n := range counts {
		sum[o] += n
	}
}

// TestNoFutileMovesWithoutOtherActors checks that, without other actors, no pod returns and each
// pod runs on its planned node.
func TestNoFutileMovesWithoutOtherActors(t *testing.T) {
	for _, mode := range []holdSupport{held, unheld, mixed} {
		sum := map[Outcome]int{}
		for seed := range seeds(20) {
			w := newTestCluster(t, seed, mode)
			w.quiet = true
			w.rounds(4, w.checkCapacity)
			add(sum, w.counts)
			if n := w.counts[Returned] + w.counts[PlacedElsewhere] + w.counts[Unscheduled] + w.counts[NotReady] + w.counts[NotReplaced]; n > 0 {
				t.Errorf("seed %d, %s: NotFutile: %v", seed, mode, w.counts)
			}
		}
		t.Logf("soak: %s: %v", mode, sum)
		if sum[Moved] < 50 {
			t.Errorf("%s: the test no longer covers this: %v", mode, sum)
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
		w.serial++
		uid := fmt.Sprint("u", w.serial)
		spec := &model.PodSpec{SchedulerName: "default-scheduler", Priority: int32(w.IntN(5)), ImageContainers: 1,
			Requests: model.Resources{MilliCPU: int64(100 * (1 + w.IntN(20)))}}
		w.put(&model.Pod{Namespace: "x", Name: uid, UID: uid, Spec: spec, Created: w.now, Phase: model.Pending})
	case 2:
		ids := w.api.NodeIDs()
		n := *w.api.Node(ids[w.IntN(len(ids))]).Model
		n.Unschedulable = !n.Unschedulable
		w.notify(func(s *cluster.State, v *View) { s.UpsertNode(&n) })
	case 3, 4:
		w.kill()
	case 5:
		if w.flaky && w.IntN(4) == 0 {
			w.restart()
		}
	}
}

// kill deletes a pod that no other actor has marked.
func (w *testCluster) kill() {
	all := w.allPods()
	if p := all[w.IntN(len(all))]; !p.Deleting {
		w.deletePod(p)
	}
}

// TestInvariantsWithOtherActors checks, with other actors, a lagging view and a failing API, that
// budgets and pacing are respected, no move is retried too early, and no Hold remains, not even
// after a crash.
func TestInvariantsWithOtherActors(t *testing.T) {
	sum := map[Outcome]int{}
	for seed := range seeds(40) {
		w := newTestCluster(t, seed, holdSupport(seed%3))
		w.flaky = seed%4 > 0
		if seed%4 == 2 {
			w.lag = 3 * time.Second
		}
		w.rounds(4, w.disturb)
		add(sum, w.counts)
	}
	t.Logf("soak: %v", sum)
	for _, o := range []Outcome{Moved, Abandoned, PlacedElsewhere} {
		if sum[o] == 0 {
			t.Errorf("the test no longer covers this: no move is %s: %v", o, sum)
		}
	}
}
