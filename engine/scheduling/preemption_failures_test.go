package scheduling

import (
	"testing"
	"time"

	"github.com/berthproject/berth/engine/displacement"
	"github.com/berthproject/berth/engine/model"
)

// nodeWithOneCore returns a node for one pod of 600 millicores.
func nodeWithOneCore(name string) *model.Node {
	return &model.Node{Name: name, UID: name, AllocatablePods: 10, Allocatable: model.Resources{MilliCPU: 1000}}
}

// addCostlierNodes adds nodes n2 and n3, where preemption needs more victims.
func (s *machineTest) addCostlierNodes() {
	s.t.Helper()
	s.m.Step(s.now, []Event{nodeWithOneCore("n2"), podWith500m("b1", "n2"), podWith500m("b2", "n2"), nodeWithOneCore("n3"), podWith333m("c1"), podWith333m("c2"), podWith333m("c3")}, 10)
}

func podWith500m(name, node string) *model.Pod {
	p := smallPod(name, node)
	p.Spec = spec(500)
	return p
}

func podWith333m(name string) *model.Pod {
	p := smallPod(name, "n3")
	p.Spec = spec(333)
	return p
}

// completePreempt completes a Preempt; the watch shows terminating victims.
func (s *machineTest) completePreempt(n int, want string) {
	s.t.Helper()
	events := []Event{s.outcome(n, Done)}
	for _, v := range s.last[n].(Preempt).Plan.Victims {
		events = append(events, withDisruptionTarget(v))
	}
	s.step(want, events...)
}

// podWith1000m returns a pod that needs a whole node.
func podWith1000m(name string) *model.Pod {
	p := smallPod(name, "")
	p.Spec = specOf(specKey{cpu: 1000, priority: 5})
	return p
}

func TestNodesOfPreemptionFailuresAreTriedLast(t *testing.T) {
	s := newMachineTest(t)
	s.step("", podWithPriority("low", "n1", 0))
	s.addCostlierNodes()
	s.step("report:high:unschedulable preempt:high:n1", podWith1000m("high"))
	s.completePreempt(1, "")
	s.wait(s.m.cfg.VictimsTimeout)
	s.step("clear:high report:high:unschedulable preempt:high:n2")
	done := s.outcome(0, Done)
	s.completePreempt(2, "")
	s.step("", done)
	s.wait(s.m.cfg.VictimsTimeout)
	s.step("clear:high report:high:unschedulable preempt:high:n3")
	s.completePreempt(2, "")
	s.wait(s.m.cfg.VictimsTimeout)
	s.step("clear:high report:high:unschedulable preempt:high:n1") // all nodes have failed
	s.step("bind:high:n1", s.outcome(2, Done), Remove{podWithPriority("low", "n1", 0)})
	bound := podWith1000m("high")
	bound.NodeName = "n1"
	s.step("", bound)
	if len(s.m.preemptionFailures) != 0 {
		t.Errorf("preemption failures %v of a bound pod remain, want none", s.m.preemptionFailures)
	}
}

// TestPreemptionFailuresWithExtenders checks pods of 300 and 400 millicores, which extenders are interested
// in.
func TestPreemptionFailuresWithExtenders(t *testing.T) {
	for cpu, want := range map[int64][2]string{
		300: {"report:high:unschedulable preempt:high:n1", "clear:high report:high:unschedulable preempt:high:n2"},
		400: {"preemptextenders:high:n1,n2", "clear:high preemptextenders:high:n2"},
	} {
		s := newMachineTest(t)
		high := smallPod("high", "")
		high.Spec = specOf(specKey{cpu: cpu, priority: 5})
		larger := nodeWithOneCore("n1")
		larger.Allocatable.MilliCPU = 1200
		s.step("", larger, podWithPriority("low", "n1", 0), podWithPriority("important", "n1", 9), nodeWithOneCore("n2"), podWith500m("b1", "n2"), podWith500m("b2", "n2"))
		s.step(want[0], high)
		if cpu == 400 {
			remaining := s.last[0].(CallPreemptionExtenders).Candidates
			o := s.outcome(0, Done)
			o.Candidates = remaining
			s.step("report:high:unschedulable preempt:high:n1", o)
		}
		s.completePreempt(1, "")
		s.wait(s.m.cfg.VictimsTimeout)
		s.step(want[1])
	}
}

// TestVictimsTimeoutDuringExtenderCall checks that a timeout during an extender call takes effect
// after the call.
func TestVictimsTimeoutDuringExtenderCall(t *testing.T) {
	s := newMachineTest(t)
	high := smallPod("high", "")
	high.Spec = specOf(specKey{cpu: 300, priority: 5})
	low := podWithPriority("low", "n1", 0)
	low.Spec = spec(1000)
	s.step("report:high:unschedulable preempt:high:n1", low, high)
	s.completePreempt(1, "")
	s.wait(s.m.cfg.VictimsTimeout - time.Second)
	s.step("extenders:high:n2", nodeWithOneCore("n2"))
	response := s.outcome(0, Done)
	response.ExtenderResult = &ExtenderResult{FailedNodes: []FailedNode{{Node: "n2", Reason: "refused"}}}
	s.wait(time.Second)
	s.step("")
	s.step("report:high:unschedulable", response)
	s.wait(s.m.cfg.RetryInterval)
	s.step("clear:high extenders:high:n2")
}

func TestVictimsTimeoutIncludesGracePeriod(t *testing.T) {
	s := newPreemptionTest(t)
	terminating := withDisruptionTarget(podWithPriority("low", "n1", 0))
	terminating.GraceSeconds = 1800
	s.step("", s.outcome(1, Done), terminating)
	const flushed = "report:high:unschedulable" // the pod is retried regularly and stays nominated
	s.wait(s.m.cfg.VictimsTimeout)
	s.step(flushed)
	s.wait(30*time.Minute - 1)
	s.step(flushed)
	s.wait(1)
	s.step("clear:high report:high:unschedulable preempt:high:n1")
}

func TestHugeGracePeriodDoesNotOverflow(t *testing.T) {
	m := newMachine()
	if d := m.victimsTimeout([]*model.Pod{{GraceSeconds: 1 << 62}}); d < 365*24*time.Hour {
		t.Errorf("timeout %v, want at least a year", d)
	}
}

func TestPreemptWithoutOutcomeIsAbandoned(t *testing.T) {
	s := newMachineTest(t)
	s.step("report:high:unschedulable preempt:high:n1", podWithPriority("low", "n1", 0), nodeWithOneCore("n2"), podWith500m("b1", "n2"), podWith500m("b2", "n2"), podWithPriority("high", "", 5))
	events, node := []Event{s.outcome(1, Unknown)}, ""
	for end := s.now.Add(s.m.cfg.VictimsTimeout + 2*s.m.cfg.RetryInterval); !s.now.After(end); s.wait(time.Second) {
		effects, _ := s.m.Step(s.now, events, 10)
		events = nil
		for _, e := range effects {
			if e, ok := e.(Preempt); ok {
				events, node = []Event{Outcome{ID: e.ID, Result: Unknown}}, e.Plan.Node
			}
		}
	}
	if node != "n2" {
		t.Errorf("the last Preempt was on %q, want n2", node)
	}
	if s.m.state.Pod("low").Deleting {
		t.Error("the victim of an abandoned Preempt counts as terminating")
	}
}

// TestUnansweredPreemptDoesNotBlockQueue checks that a pod whose Preempt is unanswered is scheduled
// on another node if it fits.
func TestUnansweredPreemptDoesNotBlockQueue(t *testing.T) {
	for name, nodeAddedFirst := range map[string]bool{"after the outcome": false, "before the outcome": true} {
		t.Run(name, func(t *testing.T) {
			s := newPreemptionTest(t)
			unknown := s.outcome(1, Unknown)
			s.wait(3 * time.Second)
			if nodeAddedFirst {
				s.step("", nodeWithOneCore("n2"))
				s.step("clear:high bind:high:n2", unknown)
			} else {
				s.step("", unknown)
				s.step("clear:high bind:high:n2", nodeWithOneCore("n2"))
			}
			if displacement.Preemption.IsTerminating(s.m.state.Pod("low")) {
				t.Error("the victim still counts as terminating")
			}
			if s.step("", s.outcome(0, Done), s.outcome(1, Done)); len(s.m.markedVictims) > 0 {
				t.Errorf("%d victims are still marked, want none", len(s.m.markedVictims))
			}
		})
	}
}

func TestRefusedPreemptSelectsAnotherNode(t *testing.T) {
	s := newPreemptionTest(t)
	refused := s.outcome(1, Refused)
	s.step("report:high:unschedulable preempt:high:n2", nodeWithOneCore("n2"), podWith500m("b1", "n2"), podWith500m("b2", "n2"), refused)
	if e := s.last[1].(Preempt); e.Choice != 1 {
		t.Errorf("choice %d overrules budgets, want 1, as no budget refused an eviction", e.Choice)
	}
	s.step("clear:high report:high:error report:high:unschedulable", s.outcome(1, Refused))
	done := s.outcome(0, Done)
	s.wait(s.m.cfg.BindTimeout - 1)
	s.step("report:high:unschedulable", done, nodeWithOneCore("n3"), podWith333m("c1"), podWith333m("c2"), podWith333m("c3"))
	s.wait(1)
	s.step("report:high:unschedulable preempt:high:n3") // only the timeout has passed
}

// TestRefusedPreemptWaitsForOtherVictims checks that a pod with a refused Preempt waits for another
// preemptor's victims only until they time out.
func TestRefusedPreemptWaitsForOtherVictims(t *testing.T) {
	s := newMachineTest(t)
	other, low, high := smallPod("other", "n1"), smallPod("low", "n1"), smallPod("high", "")
	other.Spec, low.Spec, high.Spec = spec(300), spec(700), specOf(specKey{cpu: 1000, priority: 5})
	s.step("report:high:unschedulable preempt:high:n1", withDisruptionTarget(other), low, high)
	s.step("report:high:unschedulable", nodeWithOneCore("n2"), podWith500m("b1", "n2"), podWith500m("b2", "n2"), s.outcome(1, Refused))
	s.wait(s.m.cfg.VictimsTimeout)
	s.step("clear:high report:high:unschedulable preempt:high:n2")
}
