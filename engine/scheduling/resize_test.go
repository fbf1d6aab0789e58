package scheduling

import (
	"strings"
	"testing"
	"time"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement/framework"
	"github.com/berthproject/berth/engine/scheduling/profiles"
)

// resizeTest is a machineTest with preemption for resizes. Node n1 has 1000 millicores.
type resizeTest struct{ *machineTest }

func newResizeTest(t *testing.T) resizeTest {
	t.Helper()
	p, err := framework.NewProfile(framework.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	cfg := DefaultConfig()
	cfg.Profiles, cfg.ResizePreemption = []profiles.Profile{profiles.New(p, 1, 0)}, true
	s := resizeTest{&machineTest{t: t, m: New(cfg), now: t0}}
	s.step("", &model.Node{Name: "n1", UID: "n1", AllocatablePods: 10, Allocatable: model.Resources{MilliCPU: 1000}})
	return s
}

// running returns a pod of n1.
func running(name string, cpu int64, priority int32) *model.Pod {
	return &model.Pod{Namespace: "ns", Name: name, UID: name, NodeName: "n1", Phase: model.Running, Spec: specOf(specKey{cpu: cpu, priority: priority})}
}

// resizing returns a pod of n1 whose resize to cpu millicores the node defers.
func resizing(name string, cpu int64, priority int32) *model.Pod {
	p := running(name, cpu, priority)
	p.DeferredResize = &model.DeferredResize{Current: model.Resources{MilliCPU: 100}}
	return p
}

// newResizePreemption returns a test in which "low" is preempted for "high".
func newResizePreemption(t *testing.T) resizeTest {
	t.Helper()
	s := newResizeTest(t)
	s.step("preempt:high:n1", running("low", 500, 0), resizing("high", 600, 5))
	if e := s.last[0].(Preempt); !e.Resize || e.Choice != 1 || len(e.Plan.Victims) != 1 || e.Pod.NominatedNodeName != "" {
		t.Fatalf("%+v, want a first choice of one victim without a nomination", e)
	}
	return s
}

// expectNoResize checks that nothing of a resize remains.
func (s resizeTest) expectNoResize() {
	s.t.Helper()
	if m := s.m; len(m.resizes)+len(m.resizesByNode)+len(m.dueResizes)+len(m.markedVictims)+len(m.nominationsByEffect) != 0 {
		s.t.Errorf("%d resizes, %d by node, %d due, %d victims, %d effects remain, want none", len(m.resizes), len(m.resizesByNode), len(m.dueResizes), len(m.markedVictims), len(m.nominationsByEffect))
	}
}

func TestResizePreemptionIsOff(t *testing.T) {
	s := newResizeTest(t)
	s.m.cfg.ResizePreemption = false
	s.step("", running("low", 500, 0), resizing("high", 600, 5))
	s.expectNoResize()
}

func TestResizeWaitsForVictims(t *testing.T) {
	s := newResizePreemption(t)
	done := s.outcome(0, Done)
	s.step("", withDisruptionTarget(running("low", 500, 0)), done)
	s.wait(time.Minute)
	s.step("", resizing("high", 600, 5)) // a status update
	s.step("", Remove{running("low", 500, 0)})
	s.step("", resizing("high", 600, 5)) // it fits, but the node has not admitted it yet
	s.step("", running("high", 600, 5))
	s.expectNoResize()
}

// TestResizeOfAnotherPodTakesRoom checks that a resize is evaluated again if the node admits another one
// first.
func TestResizeOfAnotherPodTakesRoom(t *testing.T) {
	s := newResizeTest(t)
	s.step("preempt:high:n1", running("low", 300, 0), running("other", 100, 9), running("spare", 100, 1), resizing("high", 600, 5))
	s.step("", withDisruptionTarget(running("low", 300, 0)), s.outcome(0, Done))
	s.step("", Remove{running("low", 300, 0)})
	s.step("preempt:high:n1", running("other", 400, 9))
	if e := s.last[0].(Preempt); len(e.Plan.Victims) != 1 || e.Plan.Victims[0].Name != "spare" {
		t.Errorf("%+v, want victim spare", e.Plan)
	}
}

func TestWithdrawnResize(t *testing.T) {
	t.Run("while the Preempt is in flight", func(t *testing.T) {
		s := newResizePreemption(t)
		refused := s.outcome(0, Refused)
		s.step("", running("high", 100, 5))
		if len(s.m.markedVictims) != 1 {
			t.Error("the victim of a Preempt in flight does not count as terminating")
		}
		s.step("", refused)
		s.expectNoResize()
		if s.m.state.Pod("low").Deleting {
			t.Error("the victim of a refused Preempt counts as terminating")
		}
	})
	t.Run("while victims terminate", func(t *testing.T) {
		s := newResizePreemption(t)
		s.step("", withDisruptionTarget(running("low", 500, 0)), s.outcome(0, Done))
		s.step("", running("high", 100, 5))
		s.step("", Remove{running("low", 500, 0)})
		s.expectNoResize()
	})
	t.Run("after an unknown outcome", func(t *testing.T) {
		s := newResizePreemption(t)
		s.step("", s.outcome(0, Unknown))
		s.step("", running("high", 100, 5))
		s.expectNoResize()
		s.wait(time.Hour)
		s.step("")
	})
	t.Run("by deletion", func(t *testing.T) {
		s := newResizePreemption(t)
		done := s.outcome(0, Done)
		s.step("", Remove{resizing("high", 600, 5)})
		s.step("", done, Remove{running("low", 500, 0)})
		s.expectNoResize()
	})
}

func TestInfeasibleResizeDoesNotPreempt(t *testing.T) {
	s := newResizeTest(t)
	s.step("resize:high:none", running("low", 500, 0), resizing("high", 1100, 5)) // the node has not recognized it yet
	infeasible := running("high", 100, 5)
	s.step("", infeasible)
	s.wait(time.Hour)
	s.step("", infeasible, running("low", 400, 0))
	s.expectNoResize()
}

// TestResizeWithoutVictimsIsReportedOnce checks that the reasons are reported again only after they change.
func TestResizeWithoutVictimsIsReportedOnce(t *testing.T) {
	s := newResizeTest(t)
	s.step("resize:high:none", running("equal", 500, 5), resizing("high", 600, 5))
	s.step("", running("equal", 450, 5)) // evaluated again, for the same reasons
	s.step("preempt:high:n1", running("low", 100, 0), running("equal", 350, 5))
	disabled := &model.Node{Name: "n1", UID: "n1", AllocatablePods: 10, Allocatable: model.Resources{MilliCPU: 1000}, NoResizePreemption: true}
	s.step("resize:high:error", s.outcome(0, Refused))
	s.step("", disabled) // paused
	s.wait(s.m.cfg.BindTimeout)
	s.step("resize:high:disabled")
	enabled := *disabled
	enabled.NoResizePreemption = false
	s.step("preempt:high:n1", &enabled)
}

func TestRefusedResizePreemption(t *testing.T) {
	t.Run("by a budget", func(t *testing.T) {
		s := newResizePreemption(t)
		refused := s.outcome(0, Refused)
		refused.Budgets = []*model.Budget{{Namespace: "ns", Name: "b", Selector: &model.Selector{}}}
		s.step("preempt:high:n1", refused)
		e := s.last[0].(Preempt)
		if e.Choice != 2 || len(e.Plan.Debits) != 1 || len(e.Plan.Debits[0].Overruled) != 1 {
			t.Errorf("%+v, want choice 2 with one overruled victim", e)
		}
		s.step("resize:high:error", s.outcome(0, Refused))
		s.wait(s.m.cfg.BindTimeout - 1)
		s.step("", resizing("high", 600, 5))
		s.wait(1)
		s.step("preempt:high:n1") // after the pause
	})
	t.Run("by a conflict", func(t *testing.T) {
		s := newResizePreemption(t)
		s.step("", s.outcome(0, Conflict))
		s.wait(s.m.cfg.RetryInterval)
		s.step("preempt:high:n1")
	})
	t.Run("unknown", func(t *testing.T) {
		s := newResizePreemption(t)
		s.step("", s.outcome(0, Unknown))
		s.wait(s.m.cfg.RetryInterval)
		s.step("preempt:high:n1")
		if e := s.last[0].(Preempt); !e.Retry || !e.Resize {
			t.Errorf("%+v, want a retry", e)
		}
		s.wait(s.m.cfg.BindTimeout)
		s.step("") // a timeout equals Unknown
		s.wait(s.m.cfg.RetryInterval)
		s.step("preempt:high:n1")
	})
}

// expectVictims checks the victims and the choice of the last step's Preempt.
func (s resizeTest) expectVictims(choice int, want string) {
	s.t.Helper()
	e := s.last[0].(Preempt)
	if len(e.Plan.Victims) != 1 || e.Plan.Victims[0].Name != want || e.Choice != choice {
		s.t.Fatalf("choice %d of victims %v, want choice %d of %s", e.Choice, e.Plan.Victims, choice, want)
	}
}

// TestResizeVictimsTimeout checks that a victim that does not terminate is replaced by the next pod, once.
func TestResizeVictimsTimeout(t *testing.T) {
	stuck := withDisruptionTarget(running("low", 200, 0))
	overdue := func(t *testing.T) resizeTest {
		s := newResizeTest(t)
		s.step("preempt:high:n1", running("low", 200, 0), running("middle", 200, 1), running("upper", 200, 2), resizing("high", 600, 5))
		s.expectVictims(1, "low")
		s.step("", stuck, s.outcome(0, Done))
		s.wait(s.m.cfg.VictimsTimeout - 1)
		s.step("")
		s.wait(1)
		s.step("preempt:high:n1")
		s.expectVictims(1, "middle")
		return s
	}
	t.Run("another victim", func(t *testing.T) {
		s := overdue(t)
		s.step("", withDisruptionTarget(running("middle", 200, 1)), s.outcome(0, Done)) // it waits again
		s.step("", Remove{running("middle", 200, 1)})
		s.step("", running("high", 600, 5), Remove{stuck})
		s.expectNoResize()
	})
	t.Run("another victim is stuck", func(t *testing.T) {
		s := overdue(t)
		s.step("", withDisruptionTarget(running("middle", 200, 1)), s.outcome(0, Done))
		s.wait(s.m.cfg.VictimsTimeout)
		s.step("preempt:high:n1")
		s.expectVictims(1, "upper")
	})
	t.Run("a budget refuses", func(t *testing.T) {
		s := overdue(t)
		refused := s.outcome(0, Refused)
		refused.Budgets = []*model.Budget{{Namespace: "ns", Name: "b", Selector: &model.Selector{}}}
		s.step("preempt:high:n1", refused)
		s.expectVictims(2, "middle")
		s.step("", s.outcome(0, Done))
	})
	t.Run("no other victim", func(t *testing.T) {
		s := newResizePreemption(t)
		s.step("", withDisruptionTarget(running("low", 500, 0)), s.outcome(0, Done), running("other", 10, 0))
		s.wait(s.m.cfg.VictimsTimeout)
		s.step("resize:high:none")
		for range 3 { // no loop
			s.wait(s.m.cfg.VictimsTimeout)
			s.step("")
		}
		s.step("", Remove{running("low", 500, 0)})
		s.step("", running("high", 600, 5))
		s.expectNoResize()
	})
}

// TestRefusedResizeAwaitsOtherVictims checks that the timeout also applies to victims of other pods that terminate when
// victims are selected again after a refusal.
func TestRefusedResizeAwaitsOtherVictims(t *testing.T) {
	for _, budgets := range [][]*model.Budget{nil, {{Namespace: "ns", Name: "b", Selector: &model.Selector{}}}} {
		s := newResizePreemption(t)
		o := s.outcome(0, Refused)
		if o.Budgets = budgets; budgets == nil {
			o.Result = Conflict
		}
		s.step("", withDisruptionTarget(running("other", 10, 0)), o)
		s.wait(s.m.cfg.RetryInterval)
		s.step("")
		s.wait(s.m.cfg.VictimsTimeout)
		s.step("preempt:high:n1")
		s.expectVictims(1, "low")
	}
}

// TestEndOfReservationEvaluatesResize checks that a resize that lacks the resources which a pod of higher priority
// reserves is evaluated again when the reservation ends.
func TestEndOfReservationEvaluatesResize(t *testing.T) {
	spec := *specOf(specKey{cpu: 600, priority: 9})
	spec.NeverPreempts = true
	pod := func(nominated, node string, phase model.Phase) *model.Pod {
		return &model.Pod{Namespace: "ns", Name: "p", UID: "p", NominatedNodeName: nominated, NodeName: node, Phase: phase, Spec: &spec}
	}
	nominated := pod("n1", "", model.Pending)
	hold := newHold(model.Reserve, "web", "n1", t0.Add(time.Minute))
	hold.Placeholder = podOfOwner(hold.Name, "web", 600)
	hold.Placeholder.Placeholder, hold.Placeholder.NominatedNodeName, hold.Placeholder.Spec.Priority = true, "n1", 9
	replacement := podOfOwner("r", "web", 10)
	replacement.NodeName = "n2"
	for name, tc := range map[string]struct {
		reservation Event
		end         []Event
	}{
		"deleted":                 {nominated, []Event{Remove{nominated}}},
		"nomination lost":         {nominated, []Event{pod("", "", model.Pending)}},
		"nomination elsewhere":    {nominated, []Event{pod("n2", "", model.Pending)}},
		"bound elsewhere":         {nominated, []Event{pod("n1", "n2", model.Running)}},
		"failed":                  {nominated, []Event{pod("n1", "", model.Failed)}},
		"Hold deleted":            {hold, []Event{Remove{hold}}},
		"Hold expired":            {hold, nil},
		"replacement of the Hold": {hold, []Event{replacement}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newResizeTest(t)
			effects := "resize:high:none"
			if tc.reservation != Event(hold) {
				effects += " report:p:unschedulable"
			}
			s.step(effects, running("low", 500, 0), resizing("high", 600, 5), tc.reservation)
			if tc.end == nil {
				s.wait(time.Minute)
			}
			effects = "preempt:high:n1"
			if strings.HasPrefix(name, "nomination") {
				effects += " report:p:unschedulable" // it is tried again
			}
			s.step(effects, tc.end...)
		})
	}
	t.Run("assumed elsewhere", func(t *testing.T) {
		s := newResizeTest(t)
		s.step("resize:high:none report:p:unschedulable", running("low", 500, 0), resizing("high", 600, 5), nominated)
		s.wait(time.Minute) // backoff
		s.step("bind:p:n2 preempt:high:n1", &model.Node{Name: "n2", UID: "n2", AllocatablePods: 10, Allocatable: model.Resources{MilliCPU: 1000}})
	})
	t.Run("nomination lost while extenders are called", func(t *testing.T) {
		s := newResizeTest(t)
		s.m.profiles["default-scheduler"].NeedsPreemptionExtenders = func(*model.Pod) bool { return true }
		p := pod("n1", "", model.Pending)
		p.Spec = specOf(specKey{cpu: 600, priority: 9})
		s.step("resize:high:none preemptextenders:p:n1", running("low", 500, 0), resizing("high", 600, 5), p)
		p = p.WithoutNomination()
		s.step("preempt:high:n1", p)
	})
	t.Run("Bind refused", func(t *testing.T) {
		s := newResizeTest(t)
		s.step("bind:p:n1", pod("", "", model.Pending))
		refused := s.outcome(0, Refused)
		s.step("resize:high:none", running("low", 500, 0), resizing("high", 600, 5))
		s.step("report:p:error preempt:high:n1", refused)
	})
}

// TestResizePreemptionAfterRestart checks that a new machine completes the preemption of an earlier one and
// selects no other victim.
func TestResizePreemptionAfterRestart(t *testing.T) {
	marked := running("low", 500, 0)
	marked.DisruptionReason = "PreemptionByScheduler"
	t.Run("victims not deleted", func(t *testing.T) {
		s := newResizeTest(t)
		s.step("preempt:high:n1", running("lower", 500, -1), marked, resizing("high", 300, 5))
		if e := s.last[0].(Preempt); len(e.Plan.Victims) != 1 || e.Plan.Victims[0].Name != "low" {
			t.Errorf("victims %v, want low", e.Plan.Victims)
		}
	})
	t.Run("victims terminate", func(t *testing.T) {
		s := newResizeTest(t)
		s.step("", running("lower", 500, -1), withDisruptionTarget(running("low", 500, 0)), resizing("high", 300, 5))
		s.step("", Remove{running("low", 500, 0)})
		s.step("", running("high", 300, 5))
		s.expectNoResize()
	})
}

// TestResizePreemptsAssumedPod checks that a resize preempts an assumed pod without a Bind, and that the machine then
// tries that pod again.
func TestResizePreemptsAssumedPod(t *testing.T) {
	s := newResizeTest(t)
	pending := running("low", 500, 0)
	pending.NodeName, pending.Phase = "", model.Pending
	pending.Spec = specOf(specKey{cpu: 500, claim: "c-low"})
	class := "wait"
	wait := &model.StorageClass{Name: "wait", WaitForFirstConsumer: true, Provisioner: "p"}
	s.step("volumes:low:n1", wait, &model.PersistentVolumeClaim{Namespace: "ns", Name: "c-low", UID: "c-low", Class: &class}, pending)
	s.step("report:low:unschedulable report:low:unschedulable", resizing("high", 600, 5))
	if s.m.state.Assumed("low") {
		t.Error("the preempted pod is still assumed")
	}
}

// TestResizesAreEvaluatedByPriority checks that the resize of the higher priority gets its victims first.
func TestResizesAreEvaluatedByPriority(t *testing.T) {
	s := newResizeTest(t)
	s.step("preempt:b:n1", running("low", 400, 0), resizing("a", 300, 3), resizing("b", 600, 5))
}
