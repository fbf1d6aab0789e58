package planning

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/descheduling"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement/framework"
)

var now = time.Unix(1e6, 0)

func profiles(t testing.TB) map[string]*framework.Profile {
	p, err := framework.NewProfile(framework.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	return map[string]*framework.Profile{p.Name(): p}
}

func newNode(name string) *model.Node {
	return &model.Node{Name: name, Allocatable: model.Resources{MilliCPU: 4000, Memory: 1 << 34}, AllocatablePods: 20,
		Labels: model.LabelsOf(map[string]string{framework.HostnameKey: name, "zone": "z" + name[len(name)-1:]})}
}

// newPod returns a pod on a node, of the ReplicaSet that its name begins with.
func newPod(name, node string, cpu int64) *model.Pod {
	app, _, _ := strings.Cut(name, "-")
	spec := &model.PodSpec{SchedulerName: "default-scheduler", ImageContainers: 1, Requests: model.Resources{MilliCPU: cpu}}
	spec.Scoring = spec.Requests
	return &model.Pod{Namespace: "x", Name: name, UID: name, NodeName: node, Phase: model.Running, Ready: true, Spec: spec,
		Labels: model.LabelsOf(map[string]string{"app": app}), Owner: model.Owner{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: app, UID: app}}
}

// stateOf returns a state with nodes and pods.
func stateOf(objects ...any) *cluster.State {
	s := cluster.New()
	for _, t := range objects {
		switch t := t.(type) {
		case *model.Node:
			s.UpsertNode(t)
		case *model.Pod:
			s.UpsertPod(t)
		case *model.Budget:
			s.UpsertBudget(t)
		case *model.Hold:
			s.UpsertHold(t)
		}
	}
	return s
}

// snapshot returns the snapshot of a state for a run.
func snapshot(s *cluster.State) *descheduling.Snapshot {
	snap := &descheduling.Snapshot{Now: now}
	for _, id := range s.NodeIDs() {
		n := &descheduling.Node{Node: s.Node(id).Model}
		for _, p := range s.Node(id).Pods {
			n.Pods = append(n.Pods, &descheduling.Pod{Pod: p, Details: &descheduling.PodDetails{}})
		}
		snap.Nodes = append(snap.Nodes, n)
	}
	return snap
}

func candidate(snap *descheduling.Snapshot, name string) *descheduling.Candidate {
	for _, n := range snap.Nodes {
		for _, p := range n.Pods {
			if p.Name == name {
				return &descheduling.Candidate{Pod: p, Node: n, Reason: func() string { return "a test" }}
			}
		}
	}
	panic("no pod " + name)
}

func selectorFor(app string) *model.Selector {
	return &model.Selector{Requirements: []model.Requirement{{Key: "app", Op: model.In, Values: []string{app}}}}
}

// budgetOf returns a budget of a workload with a number of allowed disruptions.
func budgetOf(app string, allows int32, maxUnavailable model.IntOrPercent) *model.Budget {
	return &model.Budget{Namespace: "x", Name: app, Selector: selectorFor(app), MaxUnavailable: maxUnavailable, DisruptionsAllowed: allows,
		CurrentHealthy: 9, DesiredHealthy: 0, ExpectedPods: 9}
}

// TestRefusalReasons has a case for each reason.
func TestRefusalReasons(t *testing.T) {
	a, b := newNode("a"), newNode("b")
	full := func(n string) *model.Pod { return newPod("full-"+n, n, 3500) }
	changed := func(p *model.Pod, f func(*model.Pod)) *model.Pod { f(p); return p }
	backoff := NewMoveBackoff()
	backoff.RecordFailure(now.Add(-time.Minute), BackoffKey{"web", "a", "S"}, "it returned")
	avoid := &model.Hold{Namespace: "x", Name: AvoidHoldName("web", "a"), Type: model.Avoid, Owner: model.Owner{UID: "web"}, Node: "a", Cause: HoldCause, Until: now.Add(time.Hour)}
	evicted := *avoid
	evicted.Name, evicted.Cause = "a", "Pressure" // sorts before the other Hold
	noGain := func(*descheduling.Node) descheduling.Gain {
		return descheduling.Gain{Before: 2, After: 2, Metric: "pods"}
	}
	for name, tc := range map[string]struct {
		state   *cluster.State
		backoff *MoveBackoff
		gain    func(*descheduling.Node) descheduling.Gain
		mode    Mode
		reason  RefusalReason
		message string
	}{
		"terminating":        {state: stateOf(a, b, changed(newPod("web-1", "a", 500), func(p *model.Pod) { p.Deleting = true })), reason: PodUnavailable, message: "it is terminating"},
		"no controller":      {state: stateOf(a, b, changed(newPod("web-1", "a", 500), func(p *model.Pod) { p.Owner = model.Owner{} })), reason: NoController, message: "no controller"},
		"pod of a DaemonSet": {state: stateOf(a, b, changed(newPod("web-1", "a", 500), func(p *model.Pod) { p.Owner.Kind = "DaemonSet" })), reason: DaemonSetPod, message: "DaemonSet web"},
		"unknown scheduler":  {state: stateOf(a, b, changed(newPod("web-1", "a", 500), func(p *model.Pod) { p.Spec.SchedulerName = "odd" })), reason: UnknownScheduler, message: `"odd"`},
		"backing off":        {state: stateOf(a, b, newPod("web-1", "a", 500), full("a")), backoff: backoff, reason: BackingOff, message: "it returned; backing off until 1970-01-12T13:55:40Z"},
		"avoided":            {state: stateOf(a, b, newPod("web-1", "a", 500), full("a"), avoid, &evicted), reason: BackingOff, message: "Hold " + avoid.Name},
		"no capacity":        {state: stateOf(a, b, newPod("web-1", "a", 600), full("b")), reason: NoOtherNode, message: "its replacement would not fit on any other node"},
		"same node":          {state: stateOf(a, b, newPod("web-1", "a", 500), newPod("db-1", "b", 2000)), reason: WouldReturn, message: "back on a, with a score"},
		"equal node":         {state: stateOf(a, b, newPod("web-1", "a", 500)), mode: WithoutHolds, reason: WouldReturn, message: "a"},
		"no improvement":     {state: stateOf(a, b, newPod("web-1", "a", 500), full("a")), gain: noGain, reason: NoGain, message: "on b, where the scheduler would put its replacement, pods would not improve: 2 before, 2 after"},
		"never allowed":      {state: stateOf(a, b, newPod("web-1", "a", 500), full("a"), budgetOf("web", 0, model.IntOrPercent{Set: true})), reason: BudgetNeverAllows, message: "spec.maxUnavailable is 0"},
	} {
		snap := snapshot(tc.state)
		p := New(snap, tc.state, Options{Now: now, Mode: tc.mode, Profiles: profiles(t), Backoff: tc.backoff})
		c := candidate(snap, "web-1")
		c.Gain = tc.gain
		_, accepted := p.Move("S", "p", c)
		got := p.Plan()
		if accepted || len(got.Refused) != 1 || got.Refused[0].Reason != tc.reason || !strings.Contains(got.Refused[0].Message, tc.message) || len(got.Counts) != 1 {
			t.Errorf("%s: accepted %t, plan %+v; want the refusal %q: %s", name, accepted, got, tc.reason, tc.message)
		}
	}
	if got := PodUnavailable.String(); got != "pod unavailable" { // not "deleted": it may be terminating or on another node
		t.Errorf("reason of a terminating pod %q, want pod unavailable", got)
	}
}

func TestMovesAndBudgetEffects(t *testing.T) {
	s := stateOf(newNode("a"), newNode("b"), newPod("full-1", "a", 2000), newPod("web-1", "a", 1000), newPod("web-2", "a", 1000), newPod("db-1", "b", 3000),
		budgetOf("web", 1, model.IntOrPercent{Set: true, Value: 1}))
	snap := snapshot(s)
	p := New(snap, s, Options{Now: now, Profiles: profiles(t)})
	for _, name := range []string{"web-1", "web-2", "web-1"} {
		p.Move("S", "p", candidate(snap, name))
	}
	got := p.Plan()
	if len(got.Moves) != 1 || got.Moves[0].To != "b" || !slices.Equal(got.Moves[0].Budgets, []BudgetEffect{{"web", 1, 0}}) || got.Moves[0].Reason != "a test" {
		t.Fatalf("got plan %+v, want one move to b", got)
	}
	if len(got.Refused) != 2 || got.Refused[0].Reason != NoOtherNode || got.Refused[1].Reason != PodUnavailable {
		t.Errorf("refused %+v, want %q and %q", got.Refused, NoOtherNode, PodUnavailable)
	}
	s.UpsertPod(newPod("db-1", "b", 500))
	p = New(snapshot(s), s, Options{Now: now, Profiles: profiles(t)})
	for _, name := range []string{"web-1", "web-2"} {
		p.Move("S", "p", candidate(snap, name))
	}
	if got = p.Plan(); len(got.Moves) != 2 || got.Moves[1].WaitReason == "" || !slices.Equal(got.Moves[1].Budgets, []BudgetEffect{{"web", 0, 0}}) {
		t.Errorf("moves %+v, want two, the second of which waits for budget web", got.Moves)
	}
}

func TestGroupMovesAtomically(t *testing.T) {
	s := stateOf(newNode("a"), newNode("b"), newNode("c"), newPod("full-1", "a", 2000), newPod("web-1", "a", 1000), newPod("web-2", "a", 1000),
		newPod("db-1", "b", 3000), newPod("db-2", "c", 3500), budgetOf("web", 1, model.IntOrPercent{Set: true, Value: 1}))
	snap := snapshot(s)
	p := New(snap, s, Options{Now: now, Profiles: profiles(t)})
	before := dump(p.fork)
	restore, ok := p.Checkpoint()
	_, first := p.Move("S", "p", candidate(snap, "web-1"))
	_, second := p.Move("S", "p", candidate(snap, "web-2"))
	if restore(); !ok || !first || second || dump(p.fork) != before {
		t.Fatalf("Checkpoint %t, first move %t, second move %t; the fork is\n%swant\n%s", ok, first, second, dump(p.fork), before)
	}
	if got := p.Plan(); len(got.Moves) != 0 || got.Refused[1].Reason != GroupIncomplete {
		t.Errorf("got %+v, want no move and an incomplete group", got)
	}
	if _, accepted := p.Move("S", "p", candidate(snap, "web-2")); !accepted || p.Plan().Moves[0].WaitReason != "" {
		t.Errorf("web-2 after the restore: accepted %t, plan %+v; want a move that does not wait for budget web", accepted, p.Plan())
	}
}

// TestExcludedNodeIsEmptiedWithHolds checks an excluded node a, which the scheduler prefers. It
// selects b because of the Hold.
func TestExcludedNodeIsEmptiedWithHolds(t *testing.T) {
	s := stateOf(newNode("a"), newNode("b"), newPod("web-1", "a", 500), newPod("db-1", "b", 2000))
	snap := snapshot(s)
	for _, mode := range []Mode{WithHolds, WithoutHolds} {
		p := New(snap, s, Options{Now: now, Mode: mode, Profiles: profiles(t)})
		p.SetExcluded(snap.Nodes[0], true)
		to, accepted := p.Move("S", "p", candidate(snap, "web-1"))
		if accepted != (mode == WithHolds) || accepted && (to.Name != "b" || !p.Plan().Moves[0].Emptied) {
			t.Errorf("%s: accepted %t, moved to %v, plan %+v; want a move to b only with Holds", mode, accepted, to, p.Plan())
		}
		if p.SetExcluded(snap.Nodes[0], false); dump(p.fork) == dump(s) == accepted {
			t.Errorf("%s: the fork is\n%swant it to differ from the state: %t; the state is\n%s", mode, dump(p.fork), accepted, dump(s))
		}
	}
}

// dump returns the pods and nodes as text.
func dump(s *cluster.State) string {
	var b strings.Builder
	for _, id := range s.NodeIDs() {
		fmt.Fprintf(&b, "%s %v:", s.Node(id).Model.Name, s.Node(id).Used.MilliCPU)
		for _, p := range s.Node(id).Pods {
			b.WriteString(" " + p.UID)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// TestMoveBackoff checks that the backoff doubles up to one day and is reset after one day without
// a failure.
func TestMoveBackoff(t *testing.T) {
	m, k, at := NewMoveBackoff(), BackoffKey{"o", "n", "s"}, now
	for i, want := range []time.Duration{10, 20, 40, 80, 160, 320, 640, 1280, 1440, 1440} {
		until, n := m.RecordFailure(at, k, "a reason")
		if until.Sub(at) != want*time.Minute || n != i+1 {
			t.Fatalf("failure %d delays moves by %v, want failure %d and %v", n, until.Sub(at), i+1, want*time.Minute)
		}
		if _, _, ok := m.Active(until.Add(-1), k); !ok {
			t.Fatal("the backoff is not active before its end")
		}
		if at = until; i == 9 {
			at = until.Add(m.Max + 1)
		}
		if _, _, ok := m.Active(at, k); ok {
			t.Fatal("the backoff is active after its end")
		}
	}
	if until, n := m.RecordFailure(at, k, "a reason"); n != 1 || until.Sub(at) != m.Initial {
		t.Errorf("after a day without a failure: failure %d, delay %v; want 1, %v", n, until.Sub(at), m.Initial)
	}
	if m.DeleteExpired(at.Add(time.Hour)); m.Len() != 1 {
		t.Error("DeleteExpired deleted an entry that still counts")
	}
	if m.DeleteExpired(at.Add(48 * time.Hour)); m.Len() != 0 {
		t.Error("DeleteExpired kept an expired entry")
	}
}

// TestExpiredHoldReservesNothing checks that an expired Hold, which the watch may still show,
// reserves nothing.
func TestExpiredHoldReservesNothing(t *testing.T) {
	for until, want := range map[time.Duration]bool{-time.Second: true, time.Minute: false} {
		placeholder := newPod("db-1", "", 3500)
		placeholder.NominatedNodeName, placeholder.Placeholder, placeholder.UID = "b", true, "hold/x/h"
		h := &model.Hold{Namespace: "x", Name: "h", Type: model.Reserve, Owner: placeholder.Owner, Node: "b", Cause: HoldCause, Until: now.Add(until), Victim: "db-0", Placeholder: placeholder}
		s := stateOf(newNode("a"), newNode("b"), newPod("web-1", "a", 600), newPod("full-1", "a", 3000), h)
		snap := snapshot(s)
		p := New(snap, s, Options{Now: now, Profiles: profiles(t)})
		if _, accepted := p.Move("S", "p", candidate(snap, "web-1")); accepted != want {
			t.Errorf("the Hold expires in %v: accepted %t, want %t: %+v", until, accepted, want, p.Plan().Refused)
		}
	}
}
