package evacuation

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/descheduling/planning"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement/framework"
)

// testMachine is a machine in a cluster with nodes a and b, driven step by step.
type testMachine struct {
	t    *testing.T
	now  time.Time
	v    *View
	m    *Planned
	last []Action
}

func newTestMachine(t *testing.T, o PlanOptions, moves ...*planning.Move) *testMachine {
	t.Helper()
	p, err := framework.NewProfile(framework.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	o.Profiles, o.Holds = map[string]*framework.Profile{p.Name(): p}, true
	v := NewView(cluster.New())
	s := &testMachine{t: t, now: time.Unix(1e6, 0), v: v, m: NewPlanned(v, o)}
	for _, n := range []string{"a", "b"} {
		s.v.State.UpsertNode(&model.Node{Name: n, Allocatable: model.Resources{MilliCPU: 4000, Memory: 1 << 34}, AllocatablePods: 20})
	}
	for _, m := range moves {
		s.setPod(m.Pod)
	}
	s.setPod(s.pod("full", "a", 1000)) // makes b the better node
	s.m.SetPlan(s.now, &planning.Plan{Moves: moves})
	return s
}

// pod returns the pod of newPod, created now.
func (s *testMachine) pod(name, node string, cpu int64) *model.Pod {
	p := newPod(name, node, cpu)
	p.Created = s.now
	return p
}

// newPod returns a pod of the workload that its name begins with; Ready if node is not empty. cpu
// is its request in millicores.
func newPod(name, node string, cpu int64) *model.Pod {
	app, _, _ := strings.Cut(name, "-")
	spec := &model.PodSpec{SchedulerName: "default-scheduler", ImageContainers: 1, Requests: model.Resources{MilliCPU: cpu}}
	spec.Scoring = spec.Requests
	return &model.Pod{Namespace: "x", Name: name, UID: name, NodeName: node, Ready: node != "", Phase: model.Running, Spec: spec, GraceSeconds: 10,
		Owner: model.Owner{Kind: "ReplicaSet", Name: app, UID: app}}
}

// move returns a move of a pod from a to b.
func move(pod string, cpu int64) *planning.Move {
	return &planning.Move{Pod: newPod(pod, "a", cpu), From: "a", To: "b", TopNodes: []string{"b"}, Strategy: "S"}
}

// moveIn returns a move in a mode: with or without a Hold.
func moveIn(mode planning.Mode, pod string, cpu int64) *planning.Move {
	x := move(pod, cpu)
	x.Mode = mode
	return x
}

func (s *testMachine) setPod(p *model.Pod) {
	s.v.State.UpsertPod(p)
	s.v.Upsert(p)
}

func (s *testMachine) deletePod(uid string) {
	p := *s.v.Pod(uid)
	p.Deleting = true
	s.setPod(&p)
}

func (s *testMachine) removePod(uid string) {
	s.v.State.RemovePod(uid)
	s.v.Remove(uid)
}

// step advances the machine by some seconds and checks its actions.
func (s *testMachine) step(after int, want string) time.Time {
	s.t.Helper()
	s.now = s.now.Add(time.Duration(after) * time.Second)
	actions, wake := s.m.Step(s.now)
	var got []string
	for _, a := range actions {
		switch a.Kind {
		case Reserve:
			got = append(got, fmt.Sprintf("reserve %s for %s", a.Hold.Node, a.Hold.VictimName))
		case Evict:
			got = append(got, "evict "+a.Move.Pod.Name)
		case Avoid:
			got = append(got, fmt.Sprintf("avoid %s %d %s", a.Hold.Node, a.Hold.Count, a.Hold.Until.Sub(s.now)))
		case Release:
			got = append(got, "release "+a.Hold.Node+": "+a.Reason)
		}
	}
	if g := strings.Join(got, ", "); g != want {
		s.t.Errorf("at %ds: %q, want %q; %s", s.now.Unix()-1e6, g, want, s.state())
	}
	s.last = actions
	return wake
}

// completeAll reports success of the last actions.
func (s *testMachine) completeAll() {
	for _, a := range s.last {
		switch a.Kind {
		case Reserve:
			h := *a.Hold
			s.v.State.UpsertHold(&h)
		case Release:
			s.v.State.RemoveHold(a.Hold.Namespace, a.Hold.Name)
		case Evict:
			s.deletePod(a.Move.Pod.UID)
		}
		s.m.HandleResult(s.now, a.ID, Result{Done: true})
	}
}

// refuseLast reports that the last action was refused.
func (s *testMachine) refuseLast(message string) {
	s.m.HandleResult(s.now, s.last[0].ID, Result{Message: message})
}

func (s *testMachine) state() string {
	var out []string
	for _, x := range s.m.Moves() {
		out = append(out, fmt.Sprintf("%s %s %s %q", x.Pod.Name, x.Stage, x.Outcome, x.Reason))
	}
	return strings.Join(out, "; ")
}

func (s *testMachine) expectOutcome(want string) {
	s.t.Helper()
	if got := s.state(); got != want {
		s.t.Errorf("got  %s\nwant %s", got, want)
	}
}

// startMove returns a machine that has evicted web-1.
func startMove(t *testing.T, mode planning.Mode) *testMachine {
	t.Helper()
	s := newTestMachine(t, PlanOptions{}, moveIn(mode, "web-1", 1000))
	if mode == planning.WithHolds {
		s.step(0, "reserve b for web-1")
		s.completeAll()
	}
	s.step(0, "evict web-1")
	s.completeAll()
	s.step(1, "")
	return s
}

func TestMoveWithHold(t *testing.T) {
	s := startMove(t, planning.WithHolds)
	s.setPod(s.pod("web-2", "", 1000))
	s.step(1, "")
	s.expectOutcome(`web-1 replaced  ""`)
	replacement := s.pod("web-2", "b", 1000)
	replacement.Ready = false
	s.setPod(replacement)
	s.step(1, "release b: its replacement is scheduled")
	s.completeAll()
	s.step(1, "")
	s.setPod(s.pod("web-2", "b", 1000))
	s.step(1, "")
	s.expectOutcome(`web-1 finished moved ""`)
	if s.m.HasInProgress() {
		t.Error("HasInProgress returned true, want false")
	}
}

// TestHoldsWithEqualNamesAreReleased checks two consecutive moves of one workload to one node.
// Their Holds have the same name.
func TestHoldsWithEqualNamesAreReleased(t *testing.T) {
	s := newTestMachine(t, PlanOptions{}, move("web-1", 1000), move("web-3", 1000))
	for i, pod := range []string{"web-1", "web-3"} {
		s.step(1, "reserve b for "+pod)
		s.completeAll()
		s.step(0, "evict "+pod)
		s.completeAll()
		s.removePod(pod)
		s.step(0, "")
		s.setPod(s.pod(fmt.Sprint("web-new", i), "b", 1000))
		s.step(0, "release b: its move has finished")
		s.completeAll()
	}
	s.step(0, "")
	if n := len(s.v.State.Holds()); n > 0 || s.m.HasInProgress() {
		t.Errorf("%d Holds remain; %s", n, s.state())
	}
}

func TestRefusedEvictionIsRetriedThenHoldReleased(t *testing.T) {
	s := newTestMachine(t, PlanOptions{}, move("web-1", 1000))
	s.step(0, "reserve b for web-1")
	s.completeAll()
	for range 5 {
		s.step(0, "evict web-1")
		s.refuseLast("not now")
		s.step(0, "")
		s.now = s.now.Add(time.Second)
	}
	s.step(0, "release b: its move is waiting")
	s.expectOutcome(`web-1 waiting  "not now"`)
	s.completeAll()
	s.step(6, "reserve b for web-1")
}

func TestReservedCapacityIsCountedOnce(t *testing.T) {
	s := newTestMachine(t, PlanOptions{}, move("web-1", 1500), move("db-1", 1500))
	s.setPod(s.pod("new", "b", 1500)) // created after planning
	s.step(0, "reserve b for web-1")
	s.completeAll()
	s.step(1, "evict web-1")
	s.expectOutcome(`web-1 evicting  ""; db-1 waiting  "node b cannot fit it now"`)
}

func TestHoldsOfPreviousProcessAreReleased(t *testing.T) {
	s := newTestMachine(t, PlanOptions{})
	hold := func(owner, node, victim string) {
		h := &model.Hold{Namespace: "x", Name: cluster.HoldName(owner, node, model.Reserve), Owner: model.Owner{Kind: "ReplicaSet", Name: owner, UID: owner},
			Node: node, Cause: planning.HoldCause, Created: s.now, Until: s.now.Add(time.Minute), Victim: victim}
		h.Placeholder = s.pod(h.Name, "", 100)
		h.Placeholder.Placeholder, h.Placeholder.NominatedNodeName = true, node
		s.v.State.UpsertHold(h)
	}
	s.setPod(s.pod("web-1", "a", 500))
	hold("web", "a", "web-1")
	s.setPod(s.pod("db-1", "a", 500))
	s.deletePod("db-1")
	hold("db", "b", "db-1")
	s.step(0, "release a: its pod was not evicted and is not being moved")
	s.completeAll()
	if wake := s.step(1, ""); !wake.Equal(s.now.Add(59 * time.Second)) {
		t.Errorf("wake time %v, want %v", wake, s.now.Add(59*time.Second))
	}
	s.setPod(s.pod("db-2", "b", 500))
	s.step(1, "release b: its replacement is scheduled")
	s.step(1, "")
	s.step(5, "release b: its replacement is scheduled")
	s.completeAll()
	s.removePod("db-1")
	hold("db", "b", "db-0")
	s.removePod("db-2")
	s.step(61, "release b: it has expired")
}

func TestTimeouts(t *testing.T) {
	s := startMove(t, planning.WithHolds)
	s.removePod("web-1")
	s.step(1, "")
	s.step(31, "release b: its move has finished")
	s.expectOutcome(`web-1 finished not replaced "ReplicaSet web created no replacement within 30s"`)

	s = startMove(t, planning.WithHolds)
	s.setPod(s.pod("web-2", "", 1000))
	s.removePod("web-1")
	s.step(1, "")
	s.step(61, "release b: its move has finished")
	s.expectOutcome(`web-1 finished unscheduled "its replacement x/web-2 was not scheduled within 1m0s"`)

	s = startMove(t, planning.WithoutHolds)
	replacement := s.pod("web-2", "b", 1000)
	replacement.Ready = false
	s.setPod(replacement)
	s.step(1, "")
	s.step(301, "")
	s.expectOutcome(`web-1 finished not ready "its replacement x/web-2 was not Ready within 5m0s"`)
}

func TestBudgetIsCheckedAgainBeforeEviction(t *testing.T) {
	s := newTestMachine(t, PlanOptions{}, move("web-1", 1000))
	s.step(0, "reserve b for web-1")
	s.completeAll()
	b := &model.Budget{Namespace: "x", Name: "late", Selector: &model.Selector{}, MinAvailable: model.IntOrPercent{Set: true, Value: 9}, DesiredHealthy: 9}
	s.v.State.UpsertBudget(b)
	s.step(0, "")
	s.expectOutcome(`web-1 evicting  "The disruption budget late needs 9 healthy pods and has 0 currently"`)
	s.v.State.RemoveBudget("x", "late")
	s.step(1, "evict web-1")
}

func TestHoldIsExtendedDuringSlowTermination(t *testing.T) {
	s := newTestMachine(t, PlanOptions{}, move("web-1", 1000))
	s.v.Pod("web-1").GraceSeconds = 600
	s.step(0, "reserve b for web-1")
	s.completeAll()
	s.step(0, "evict web-1")
	s.completeAll()
	if wake := s.step(1, ""); !wake.Equal(time.Unix(1e6+125, 0)) {
		t.Errorf("wake time %v, want %v", wake, time.Unix(1e6+125, 0))
	}
	s.step(124, "reserve b for web-1")
	s.refuseLast("no answer")
	s.step(0, "")
	s.step(1, "reserve b for web-1")
	s.completeAll()
	s.step(100, "")
	s.setPod(s.pod("web-2", "b", 1000))
	s.step(1, "release b: its move has finished")
}

func TestExpiredPlanIsNotStarted(t *testing.T) {
	s := newTestMachine(t, PlanOptions{}, move("web-1", 1000))
	s.setPod(s.pod("web-0", "", 1000)) // a pod of its workload is unscheduled
	s.step(0, "")
	s.step(1801, "")
	s.expectOutcome(`web-1 finished abandoned "the plan is more than 30m0s old: a pod of the same workload, x/web-0, is unscheduled"`)
}

// TestUnavailablePodIsNotMoved checks that a waiting move is abandoned, with the reason, if its pod is not on its node.
func TestUnavailablePodIsNotMoved(t *testing.T) {
	for want, change := range map[string]func(*testMachine){
		"it is on node b, not on a":                  func(s *testMachine) { s.setPod(s.pod("web-1", "b", 1000)) },
		"the pod is being deleted by another client": func(s *testMachine) { s.deletePod("web-1") },
		"the pod was deleted by another client":      func(s *testMachine) { s.removePod("web-1") },
	} {
		s := newTestMachine(t, PlanOptions{}, move("web-1", 1000))
		change(s)
		s.step(0, "")
		s.expectOutcome(fmt.Sprintf("web-1 finished abandoned %q", want))
	}
}

func TestNodeIsEmptiedDespiteSchedulerPreference(t *testing.T) {
	for _, emptied := range []bool{true, false} {
		x := move("web-1", 1000)
		x.Emptied = emptied
		s := newTestMachine(t, PlanOptions{}, x)
		s.setPod(s.pod("other", "b", 2000)) // makes a the better node
		if emptied {
			s.step(0, "reserve b for web-1")
			continue
		}
		s.step(0, "")
		s.expectOutcome(`web-1 finished abandoned "the scheduler would now put its replacement back on a"`)
	}
}

// TestMoveFailsIfSecondReplacementReturns checks that a move also fails if the replacement of a
// replacement returns to the node of the first pod.
func TestMoveFailsIfSecondReplacementReturns(t *testing.T) {
	s := startMove(t, planning.WithHolds)
	s.removePod("web-1")
	replacement := s.pod("web-2", "b", 1000)
	replacement.Ready = false
	s.setPod(replacement)
	s.step(1, "release b: its replacement is scheduled")
	s.completeAll()
	s.removePod("web-2")
	s.setPod(s.pod("web-3", "a", 1000))
	s.step(1, "")
	s.expectOutcome(`web-1 finished returned "x/web-3, the replacement of x/web-1, was scheduled to a again"`)
}

// TestNoEvictionWithoutValidHold checks that a Hold does not expire before the replacement can
// exist, even if creating the Hold takes long.
func TestNoEvictionWithoutValidHold(t *testing.T) {
	s := newTestMachine(t, PlanOptions{}, move("web-1", 1000))
	s.step(0, "reserve b for web-1")
	s.now = s.now.Add(2 * time.Minute) // a slow response
	s.completeAll()
	s.step(10, "release b: its move is waiting")
	s.completeAll()
	s.step(5, "reserve b for web-1")
	s.completeAll()
	s.step(0, "evict web-1")
	s.refuseLast("not now")
	s.v.State.RemoveHold("x", cluster.HoldName("web", "b", model.Reserve)) // by another component
	s.step(1, "")
	s.expectOutcome(`web-1 waiting  "its Hold was deleted"`)
	s.step(5, "reserve b for web-1")
}

// TestFinishedPodsAreCleanedUpInBatches checks that many finished pods delay other moves only
// briefly.
func TestFinishedPodsAreCleanedUpInBatches(t *testing.T) {
	var moves []*planning.Move
	for i := range 5 {
		x := move(fmt.Sprintf("job-%d", i), 1000)
		x.Pod.Phase, x.To = model.Failed, ""
		moves = append(moves, x)
	}
	s := newTestMachine(t, PlanOptions{Parallel: 2}, moves...)
	for _, want := range []string{"evict job-0, evict job-1", "evict job-2, evict job-3", "evict job-4"} {
		s.step(0, want)
		for _, a := range s.last {
			s.m.HandleResult(s.now, a.ID, Result{Done: true})
		}
	}
	s.step(0, "")
	if s.m.HasInProgress() || s.m.Moves()[4].Outcome != CleanedUp {
		t.Errorf("got %s, want all pods cleaned up", s.state())
	}
}
