package scheduling

import (
	"testing"
	"time"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/displacement"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/queue"
)

// podWithPriority returns a pod of 600 millicores with a priority.
func podWithPriority(name, node string, priority int32) *model.Pod {
	p := smallPod(name, node)
	p.Spec = specOf(specKey{cpu: 600, priority: priority})
	return p
}

// newPreemptionTest returns a machineTest whose node n1 is full with "low" and has "high" nominated
// to it.
func newPreemptionTest(t *testing.T) *machineTest {
	t.Helper()
	s := newMachineTest(t)
	s.step("report:high:unschedulable preempt:high:n1", podWithPriority("low", "n1", 0), podWithPriority("high", "", 5))
	return s
}

func TestPreemptorIsActivatedAfterLastVictim(t *testing.T) {
	s := newPreemptionTest(t)
	done := s.outcome(1, Done)
	s.step("", withDisruptionTarget(podWithPriority("low", "n1", 0)), done)
	s.expectPool("high", queue.Unschedulable)
	s.step("bind:high:n1", Remove{podWithPriority("low", "n1", 0)}) // no backoff
	if len(s.m.nominations)+len(s.m.markedVictims) != 0 {
		t.Errorf("%d nominations and %d victims remain, want none", len(s.m.nominations), len(s.m.markedVictims))
	}
}

func TestPreemptorWaitsForPreemptOutcome(t *testing.T) {
	s := newPreemptionTest(t)
	done := s.outcome(1, Done)
	s.wait(3 * time.Second)
	s.step("", Remove{podWithPriority("low", "n1", 0)})
	s.step("bind:high:n1", done)
}

func TestNominationReservesAgainstLowerPriorityOnly(t *testing.T) {
	s := newPreemptionTest(t)
	s.step("", s.outcome(1, Done), withDisruptionTarget(podWithPriority("low", "n1", 0)))
	s.step("report:middle:unschedulable", podWithPriority("middle", "", 3))
	s.step("report:top:unschedulable clear:high preempt:top:n1 report:high:unschedulable report:middle:unschedulable", podWithPriority("top", "", 9))
	if p := s.last[2].(Preempt).Plan; len(p.Victims) != 0 {
		t.Errorf("victims %v, want none, as the only one is already terminating", p.Victims)
	}
	s.step("report:top:unschedulable", s.outcome(2, Done)) // the API object had changed
	s.step("bind:top:n1 report:high:unschedulable report:middle:unschedulable", Remove{podWithPriority("low", "n1", 0)})
}

func TestUnansweredPreemptIsRetried(t *testing.T) {
	s := newPreemptionTest(t)
	s.step("", s.outcome(1, Unknown))
	s.wait(s.m.cfg.RetryInterval)
	s.step("preempt:high:n1")
	if e := s.last[0].(Preempt); !e.Retry || len(e.Plan.Victims) != 1 {
		t.Errorf("got %+v, want a retry with one victim", e)
	}
	s.wait(s.m.cfg.BindTimeout)
	s.step("") // a timeout equals Unknown
	s.wait(s.m.cfg.RetryInterval)
	s.step("preempt:high:n1")
}

func TestRefusingBudgetIsOverruledByRetry(t *testing.T) {
	s := newPreemptionTest(t)
	refused := s.outcome(1, Refused)
	refused.Budgets = []*model.Budget{{Namespace: "ns", Name: "b"}}
	s.step("report:high:unschedulable preempt:high:n1", refused)
	if e := s.last[1].(Preempt); e.Choice != 2 || len(e.Plan.Debits) != 1 || len(e.Plan.Debits[0].Overruled) != 1 {
		t.Errorf("got %+v, debits %+v; want choice 2 with one overruled victim", e, e.Plan.Debits)
	}
	s.step("clear:high report:high:error report:high:unschedulable", s.outcome(1, Refused)) // then preemption is paused
	if s.m.state.Pod("low").Deleting {
		t.Error("the victim of a refused Preempt counts as terminating")
	}
}

func TestConflictingPreemptIsReplanned(t *testing.T) {
	s := newPreemptionTest(t)
	s.step("", s.outcome(1, Conflict))
	s.wait(s.m.cfg.RetryInterval)
	s.step("report:high:unschedulable preempt:high:n1")
}

func TestVictimsTimeout(t *testing.T) {
	s := newPreemptionTest(t)
	s.step("", s.outcome(1, Done), withDisruptionTarget(podWithPriority("low", "n1", 0)))
	s.step("report:high:unschedulable", &model.Node{Name: "n2", UID: "n2", AllocatablePods: 10, Allocatable: model.Resources{MilliCPU: 700}}, podWithPriority("other", "n2", 4))
	s.wait(s.m.cfg.VictimsTimeout)
	s.step("clear:high report:high:unschedulable preempt:high:n2")
}

func TestNominationEndsWithPod(t *testing.T) {
	s := newPreemptionTest(t)
	s.step("", s.outcome(1, Done))
	nominated := podWithPriority("high", "", 5)
	nominated.NominatedNodeName = "n1"
	terminating := *nominated
	terminating.Deleting = true
	s.step("", nominated)
	s.step("clear:high", &terminating)
	s.expectPool("high", queue.NotQueued)
	id, _ := s.m.state.NodeID("n1")
	if n := s.m.state.Nominated(id); len(n) != 0 {
		t.Errorf("nominated pods %v, want none", n)
	}
}

func TestPreemptingAssumedPods(t *testing.T) {
	s := newMachineTest(t)
	podWithClaim := func(name string) *model.Pod {
		p := smallPod(name, "")
		p.Spec = specOf(specKey{cpu: 600, claim: "c-" + name})
		return p
	}
	s.step("volumes:a:n1", &model.PersistentVolumeClaim{Namespace: "ns", Name: "c-a", UID: "c-a"}, podWithClaim("a"))
	s.step("report:high:unschedulable report:a:unschedulable preempt:high:n1 report:a:unschedulable", podWithPriority("high", "", 5))
	if e := s.last[2].(Preempt); len(e.Plan.Victims) != 0 {
		t.Errorf("victims %v, want none, as the pod was only assumed", e.Plan.Victims)
	}
	if s.m.state.Assumed("a") || s.m.attempts["a"] != nil {
		t.Error("the preempted pod is still assumed or has an attempt")
	}
	s.expectPool("a", queue.Unschedulable)
	s.step("bind:high:n1", s.outcome(2, Done))
}

func TestVictimWithBindInFlightIsDeleted(t *testing.T) {
	s := newMachineTest(t)
	s.step("bind:a:n1", podWithPriority("a", "", 0))
	bind := s.outcome(0, Done)
	s.step("report:high:unschedulable preempt:high:n1", podWithPriority("high", "", 5))
	if e := s.last[1].(Preempt); len(e.Plan.Victims) != 1 {
		t.Errorf("victims %v, want one", e.Plan.Victims)
	}
	s.step("", bind, s.outcome(1, Done), podWithPriority("a", "n1", 0))
	if !displacement.Preemption.IsTerminating(s.m.state.Pod("a")) {
		t.Error("an event from before the deletion removed the mark of the victim")
	}
	s.step("bind:high:n1", Remove{podWithPriority("a", "n1", 0)})
}

// TestUnfinishedPreemptionIsAdopted checks a new process with a nominated pod and a victim that has
// the condition but is not deleted.
func TestUnfinishedPreemptionIsAdopted(t *testing.T) {
	s := newMachineTest(t)
	victim, high := podWithPriority("low", "n1", 0), podWithPriority("high", "", 5)
	victim.DisruptionReason, high.NominatedNodeName = displacement.Preemption.Reason(), "n1"
	s.step("report:high:unschedulable preempt:high:n1", victim, high)
	if e := s.last[1].(Preempt); len(e.Plan.Victims) != 1 || len(e.Plan.Debits) != 0 {
		t.Errorf("plan %+v, want one victim without debits", e.Plan)
	}
	s = newMachineTest(t)
	s.step("report:high:unschedulable", withDisruptionTarget(victim), high)
	if p := s.last[0].(ReportUnschedulable).Summary.Preemption; p.Outcome != decision.PreemptionVictimsTerminating {
		t.Errorf("preemption %+v, want terminating victims", p)
	}
	s.step("bind:high:n1", Remove{victim})
}

// TestNominatedPodIsScheduledAgainIfNodeLosesPodCapacity lowers the allocatable number of pods of the nominated node while
// the victim terminates.
func TestNominatedPodIsScheduledAgainIfNodeLosesPodCapacity(t *testing.T) {
	s := newPreemptionTest(t)
	s.step("", s.outcome(1, Done), withDisruptionTarget(podWithPriority("low", "n1", 0)))
	s.expectPool("high", queue.Unschedulable)
	id, _ := s.m.state.NodeID("n1")
	smaller := *s.m.state.Node(id).Model
	smaller.AllocatablePods = 0
	s.wait(time.Minute)
	s.step("report:high:unschedulable", &smaller)
}
