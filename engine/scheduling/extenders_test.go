package scheduling

import (
	"slices"
	"testing"
	"time"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement/framework"
	"github.com/berthproject/berth/engine/queue"
	"github.com/berthproject/berth/engine/scheduling/profiles"
)

// newExtenderTest returns a machineTest with nodes of one and two cores and extenders interested in
// every pod. They preempt if victims is set, or else filter and score nodes.
func newExtenderTest(t *testing.T, victims bool) *machineTest {
	t.Helper()
	profile, err := framework.NewProfile(framework.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	always := func(*model.Pod) bool { return true }
	p := profiles.New(profile, 1, 0)
	p.NeedsExtenders = always
	if victims {
		p.NeedsExtenders, p.NeedsPreemptionExtenders = nil, always
	}
	cfg := DefaultConfig()
	cfg.Profiles = []profiles.Profile{p}
	s := &machineTest{t: t, m: New(cfg), now: t0}
	for i, name := range []string{"n1", "n2"} {
		s.step("", &model.Node{Name: name, UID: name, AllocatablePods: 10, Allocatable: model.Resources{MilliCPU: int64(1000 * (i + 1)), Memory: 1 << 30}})
	}
	return s
}

// reply returns o as the outcome of the last step's only effect.
func (s *machineTest) reply(o Outcome) Outcome {
	o.ID = s.last[0].EffectID()
	return o
}

func TestExtenderScoresDecide(t *testing.T) {
	s := newExtenderTest(t, false)
	s.step("extenders:a:n1,n2", smallPod("a", ""))
	s.expectPool("a", queue.InFlight)
	s.step("bind:a:n1", s.reply(Outcome{ExtenderResult: &ExtenderResult{Nodes: []profiles.NodeScore{{Node: "n1", Score: 1000}, {Node: "n2", Score: 0}}}}))
}

func TestExtendersAreCalledAgainIfNodeIsFull(t *testing.T) {
	s := newExtenderTest(t, false)
	s.step("extenders:a:n1,n2", smallPod("a", ""))
	o := s.reply(Outcome{ExtenderResult: &ExtenderResult{Nodes: []profiles.NodeScore{{Node: "n1", Score: 1000}, {Node: "n2", Score: 0}}}})
	s.step("extenders:a:n2", smallPod("b", "n1"), o)
	s.step("bind:a:n2", s.reply(Outcome{ExtenderResult: &ExtenderResult{Nodes: []profiles.NodeScore{{Node: "n2", Score: 0}}}}))
}

func TestExtenderRefusalIsReportedAndRequeued(t *testing.T) {
	s := newExtenderTest(t, false)
	s.step("extenders:a:n1,n2", smallPod("a", ""))
	s.step("report:a:unschedulable", s.reply(Outcome{ExtenderResult: &ExtenderResult{FailedNodes: []FailedNode{{Node: "n1", Reason: "disk full"}, {Node: "n2", Reason: "disk full"}}}}))
	counts := s.last[0].(ReportUnschedulable).Summary.ReasonCounts
	if len(counts) != 1 || counts[0].Nodes != 2 || counts[0].Reason.String() != "disk full" {
		t.Errorf("reason counts %+v, want \"disk full\" on 2 nodes", counts)
	}
	s.wait(3 * time.Second)
	s.step("extenders:a:n1,n2", &model.Namespace{Name: "other"})
}

func TestExtenderRefusesReservedNode(t *testing.T) {
	s := newExtenderTest(t, false)
	h := newHold(model.Reserve, "web", "n1", t0.Add(time.Hour))
	h.Created, h.Placeholder = t0, &model.Pod{Namespace: "x", Name: h.Name, UID: "hold", Owner: h.Owner, NominatedNodeName: "n1", Placeholder: true, Spec: &model.PodSpec{}}
	s.step("extenders:web:n1", h, podOfOwner("web", "web", 100))
	s.step("extenders:web:n1,n2", s.reply(Outcome{ExtenderResult: &ExtenderResult{FailedNodes: []FailedNode{{Node: "n1", Reason: "disk full"}}}}))
	s.step("bind:web:n2", s.reply(Outcome{ExtenderResult: &ExtenderResult{Nodes: []profiles.NodeScore{{Node: "n2", Score: 0}}, FailedNodes: []FailedNode{{Node: "n1", Reason: "disk full"}}}}))
}

func TestExtenderErrorFailsAttempt(t *testing.T) {
	for name, end := range map[string]func(*machineTest) []Event{
		"refused":      func(s *machineTest) []Event { return []Event{s.reply(Outcome{Result: Refused, Reason: "500"})} },
		"empty answer": func(s *machineTest) []Event { return []Event{s.reply(Outcome{})} },
		"no answer":    func(s *machineTest) []Event { s.wait(s.m.cfg.ExtenderTimeout); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			s := newExtenderTest(t, false)
			s.step("extenders:a:n1,n2", smallPod("a", ""))
			s.step("report:a:error", end(s)...)
			s.expectPool("a", queue.ErrorBackoff)
		})
	}
}

func TestTerminatingPodIsNotBoundAfterExtenderCall(t *testing.T) {
	s := newExtenderTest(t, false)
	s.step("extenders:a:n1,n2", smallPod("a", ""))
	o := s.reply(Outcome{ExtenderResult: &ExtenderResult{Nodes: []profiles.NodeScore{{Node: "n1", Score: 0}}}})
	terminating := smallPod("a", "")
	terminating.Deleting = true
	s.step("", terminating, o)
	s.expectPool("a", queue.NotQueued)
}

func TestExtendersChooseVictims(t *testing.T) {
	s := newVictimCallTest(t)
	remaining := slices.Clone(s.last[0].(CallPreemptionExtenders).Candidates)
	remaining = slices.DeleteFunc(remaining, func(c profiles.Candidate) bool { return c.Node == "n1" })
	s.step("report:high:unschedulable preempt:high:n2", s.reply(Outcome{Candidates: remaining}))
	if p := s.last[0].(ReportUnschedulable).Summary.Preemption; p.Outcome != decision.PreemptionNominated || p.Node != "n2" {
		t.Errorf("preemption %+v, want a nomination to n2", p)
	}
}

// newVictimCallTest returns a machineTest whose last effect is a CallPreemptionExtenders for the
// infeasible pod "high".
func newVictimCallTest(t *testing.T) *machineTest {
	t.Helper()
	s, high := newExtenderTest(t, true), smallPod("high", "")
	high.Spec = specOf(specKey{cpu: 900, priority: 5})
	s.step("", smallPod("a", "n1"), smallPod("b", "n2"), smallPod("c", "n2"), smallPod("d", "n2"))
	s.step("preemptextenders:high:n1,n2", high)
	return s
}

func TestNoPreemptionWhenPodFitsAfterExtenderCall(t *testing.T) {
	s := newVictimCallTest(t)
	o := s.reply(Outcome{Candidates: s.last[0].(CallPreemptionExtenders).Candidates})
	s.step("bind:high:n3", &model.Node{Name: "n3", UID: "n3", AllocatablePods: 10, Allocatable: model.Resources{MilliCPU: 1000, Memory: 1 << 30}}, o)
}

func TestExtendersAreCalledAgainIfCandidateIsStale(t *testing.T) {
	s := newVictimCallTest(t)
	remaining := s.last[0].(CallPreemptionExtenders).Candidates[:1]
	s.step("preemptextenders:high:n2", podWithPriority("important", "n1", 9), s.reply(Outcome{Candidates: remaining}))
}

// TestExtenderRefusedNodeIsNotFeasible checks that a node that an extender refused is not offered
// again, although the plugins accept it.
func TestExtenderRefusedNodeIsNotFeasible(t *testing.T) {
	s := newExtenderTest(t, true)
	s.m.profiles["default-scheduler"].NeedsExtenders = s.m.profiles["default-scheduler"].NeedsPreemptionExtenders
	s.step("", smallPod("a", "n1"))
	high := smallPod("high", "")
	high.Spec = specOf(specKey{cpu: 900, priority: 5})
	s.step("extenders:high:n2", high)
	s.step("preemptextenders:high:n1", s.reply(Outcome{ExtenderResult: &ExtenderResult{FailedNodes: []FailedNode{{Node: "n2", Reason: "disk full"}}}}))
	s.step("report:high:unschedulable preempt:high:n1", s.reply(Outcome{Candidates: s.last[0].(CallPreemptionExtenders).Candidates}))
}

// TestExtenderRefusedReservedNodeIsNotFeasible checks that a reserved node that an extender refused is
// not offered again.
func TestExtenderRefusedReservedNodeIsNotFeasible(t *testing.T) {
	s := newExtenderTest(t, true)
	s.m.profiles["default-scheduler"].NeedsExtenders = s.m.profiles["default-scheduler"].NeedsPreemptionExtenders
	h := newHold(model.Reserve, "web", "n1", t0.Add(time.Hour))
	h.Created, h.Placeholder = t0, podOfOwner(h.Name, "web", 900)
	h.Placeholder.Placeholder, h.Placeholder.NominatedNodeName, h.Placeholder.Spec.Priority = true, "n1", 5
	low, web := smallPod("low", "n2"), podOfOwner("web", "web", 900)
	low.Spec, web.Spec.Priority = specOf(specKey{cpu: 1500}), 5
	refused := func() Outcome {
		return s.reply(Outcome{ExtenderResult: &ExtenderResult{FailedNodes: []FailedNode{{Node: "n1", Reason: "disk full"}}}})
	}
	s.step("extenders:web:n1", low, h, web)
	s.step("extenders:web:n1", refused()) // among all nodes
	s.step("preemptextenders:web:n2", refused())
	s.step("report:web:unschedulable preempt:web:n2", s.reply(Outcome{Candidates: s.last[0].(CallPreemptionExtenders).Candidates}))
}
