package scheduling

import (
	"testing"
	"time"

	"github.com/berthproject/berth/engine/displacement"
	"github.com/berthproject/berth/engine/model"
)

// core returns a node for one pod of 600 millicores.
func core(name string) *model.Node {
	return &model.Node{Name: name, UID: name, AllocatablePods: 10, Allocatable: model.Resources{MilliCPU: 1000}}
}

// addCostlierNodes adds nodes n2 and n3, where preemption needs more victims.
func (s *machineTest) addCostlierNodes() {
	s.t.Helper()
	s.m.Step(s.now, []Event{core("n2"), podWith500m("b1", "n2"), podWith500m("b2", "n2"), core("n3"), podWith333m("c1"), podWith333m("c2"), podWith333m("c3")}, 10)
}

func podWith500m(name, node string) *model.Pod {
	p := small(name, node)
	p.Spec = spec(500)
	return p
}

func podWith333m(name string) *model.Pod {
	p := small(name, "n3")
	p.Spec = spec(333)
	return p
}

// completePreempt completes a Preempt; the watch shows terminating victims.
func (s *machineTest) completePreempt(n int, want string) {
	s.t.Helper()
	events := []Event{s.answer(n, Done)}
	for _, v := range s.last[n].(Preempt).Plan.Victims {
		events = append(events, withDisruptionTarget(v))
	}
	s.step(want, events...)
}

// podWith1000m returns a pod that needs a whole node.
func podWith1000m(name string) *model.Pod {
	p := small(name, "")
	p.Spec = specOf(specKey{cpu: 1000, priority: 5})
	return p
}

func TestFailedNodesAreTriedLast(t *testing.T) {
	s := newMachineTest(t)
	s.step("", ranked("low", "n1", 0))
	s.addCostlierNodes()
	s.step("report:high:unschedulable preempt:high:n1", podWith1000m("high"))
	s.completePreempt(1, "")
	s.wait(s.m.cfg.VictimsTimeout)
	s.step("clear:high report:high:unschedulable preempt:high:n2")
	done := s.answer(0, Done)
	s.completePreempt(2, "")
	s.step("", done)
	s.wait(s.m.cfg.VictimsTimeout)
	s.step("clear:high report:high:unschedulable preempt:high:n3")
	s.completePreempt(2, "")
	s.wait(s.m.cfg.VictimsTimeout)
	s.step("clear:high report:high:unschedulable preempt:high:n1") // only failed nodes are left
	s.step("bind:high:n1", s.answer(2, Done), Remove{ranked("low", "n1", 0)})
	bound := podWith1000m("high")
	bound.NodeName = "n1"
	s.step("", bound)
	if len(s.m.failedNodes) != 0 {
		t.Errorf("failed nodes %v of a bound pod remain", s.m.failedNodes)
	}
}

// Extenders are interested in pods of 300 and 400; the timeouts are the same for them.
func TestFailedNodesWithExtenders(t *testing.T) {
	for cpu, want := range map[int64][2]string{
		300: {"report:high:unschedulable preempt:high:n1", "clear:high report:high:unschedulable preempt:high:n2"},
		400: {"preemptextenders:high:n1,n2", "clear:high preemptextenders:high:n2"},
	} {
		s := newMachineTest(t)
		high := small("high", "")
		high.Spec = specOf(specKey{cpu: cpu, priority: 5})
		wide := core("n1")
		wide.Allocatable.MilliCPU = 1200
		s.step("", wide, ranked("low", "n1", 0), ranked("stays", "n1", 9), core("n2"), podWith500m("b1", "n2"), podWith500m("b2", "n2"))
		s.step(want[0], high)
		if cpu == 400 {
			remaining := s.last[0].(CallPreemptionExtenders).Candidates
			o := s.answer(0, Done)
			o.Candidates = remaining
			s.step("report:high:unschedulable preempt:high:n1", o)
		}
		s.completePreempt(1, "")
		s.wait(s.m.cfg.VictimsTimeout)
		s.step(want[1])
	}
}

// A timeout during an extender call takes effect after the call.
func TestVictimsTimeoutDuringExtenderCall(t *testing.T) {
	s := newMachineTest(t)
	high := small("high", "")
	high.Spec = specOf(specKey{cpu: 300, priority: 5})
	full := ranked("low", "n1", 0)
	full.Spec = spec(1000)
	s.step("report:high:unschedulable preempt:high:n1", full, high)
	s.completePreempt(1, "")
	s.wait(s.m.cfg.VictimsTimeout - time.Second)
	s.step("extenders:high:n2", core("n2"))
	response := s.answer(0, Done)
	response.ExtenderResult = &ExtenderResult{FailedNodes: []FailedNode{{Node: "n2", Reason: "no"}}}
	s.wait(time.Second)
	s.step("")
	s.step("report:high:unschedulable", response)
	s.wait(s.m.cfg.RetryInterval)
	s.step("clear:high extenders:high:n2")
}

func TestVictimsTimeoutIncludesGracePeriod(t *testing.T) {
	s := full(t)
	terminating := withDisruptionTarget(ranked("low", "n1", 0))
	terminating.GraceSeconds = 1800
	s.step("", s.answer(1, Done), terminating)
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
		t.Errorf("timeout %v", d)
	}
}

func TestPreemptWithoutOutcomeIsAbandoned(t *testing.T) {
	s := newMachineTest(t)
	s.step("report:high:unschedulable preempt:high:n1", ranked("low", "n1", 0), core("n2"), podWith500m("b1", "n2"), podWith500m("b2", "n2"), ranked("high", "", 5))
	events, node := []Event{s.answer(1, Unknown)}, ""
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
		t.Errorf("the last Preempt was on %q", node)
	}
	if s.m.state.Pod("low").Deleting {
		t.Error("the victim of an abandoned Preempt counts as terminating")
	}
}

// A pod whose Preempt is unanswered is scheduled elsewhere if it fits.
func TestUnansweredPreemptDoesNotBlockQueue(t *testing.T) {
	for name, nodeAddedFirst := range map[string]bool{"after the outcome": false, "before the outcome": true} {
		t.Run(name, func(t *testing.T) {
			s := full(t)
			unknown := s.answer(1, Unknown)
			s.wait(3 * time.Second)
			if nodeAddedFirst {
				s.step("", core("n2"))
				s.step("clear:high bind:high:n2", unknown)
			} else {
				s.step("", unknown)
				s.step("clear:high bind:high:n2", core("n2"))
			}
			if displacement.Preemption.IsTerminating(s.m.state.Pod("low")) {
				t.Error("the victim still counts as terminating")
			}
			if s.step("", s.answer(0, Done), s.answer(1, Done)); len(s.m.markedVictims) > 0 {
				t.Errorf("%d victims are left", len(s.m.markedVictims))
			}
		})
	}
}

func TestRefusedPreemptChoosesAnotherNode(t *testing.T) {
	s := full(t)
	refused := s.answer(1, Refused)
	s.step("report:high:unschedulable preempt:high:n2", core("n2"), podWith500m("b1", "n2"), podWith500m("b2", "n2"), refused)
	if e := s.last[1].(Preempt); e.Choice != 1 {
		t.Errorf("choice %d overrules budgets although no budget refused an eviction", e.Choice)
	}
	s.step("clear:high report:high:error report:high:unschedulable", s.answer(1, Refused))
	done := s.answer(0, Done)
	s.wait(s.m.cfg.BindTimeout - 1)
	s.step("report:high:unschedulable", done, core("n3"), podWith333m("c1"), podWith333m("c2"), podWith333m("c3"))
	s.wait(1)
	s.step("report:high:unschedulable preempt:high:n3") // only the timeout has passed
}

// A refused choice does not wait forever for another preemptor's victims.
func TestRefusedPreemptWaitsForOtherVictims(t *testing.T) {
	s := newMachineTest(t)
	other, low, high := small("other", "n1"), small("low", "n1"), small("high", "")
	other.Spec, low.Spec, high.Spec = spec(300), spec(700), specOf(specKey{cpu: 1000, priority: 5})
	s.step("report:high:unschedulable preempt:high:n1", withDisruptionTarget(other), low, high)
	s.step("report:high:unschedulable", core("n2"), podWith500m("b1", "n2"), podWith500m("b2", "n2"), s.answer(1, Refused))
	s.wait(s.m.cfg.VictimsTimeout)
	s.step("clear:high report:high:unschedulable preempt:high:n2")
}
