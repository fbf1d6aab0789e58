package scheduling

import (
	"strings"
	"testing"
	"time"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/queue"
)

var t0 = time.Unix(1000, 0)

// machineTest drives a machine and checks its effects in short form.
type machineTest struct {
	t    *testing.T
	m    *Machine
	now  time.Time
	last []Effect
}

func newMachineTest(t *testing.T) *machineTest {
	s := &machineTest{t: t, m: newMachine(), now: t0}
	s.step("", &model.Node{Name: "n1", UID: "n1", AllocatablePods: 10, Allocatable: model.Resources{MilliCPU: 1000}})
	return s
}

// step applies events and checks the effects, as words such as "bind:a:n1 refresh:a".
func (s *machineTest) step(want string, events ...Event) {
	s.t.Helper()
	effects, _ := s.m.Step(s.now, events, 10)
	s.last = append([]Effect(nil), effects...)
	var got []string
	for _, e := range effects {
		switch e := e.(type) {
		case Bind:
			got = append(got, "bind:"+e.Pod.Name+":"+e.Node)
		case ReportBound:
			got = append(got, "bound:"+e.Pod.Name+":"+e.Node)
		case RefreshPod:
			got = append(got, "refresh:"+e.Pod.Name)
		case ReportUnschedulable:
			got = append(got, "report:"+e.Pod.Name+":"+e.Summary.Outcome.String())
		case CallExtenders:
			var nodes []string
			for _, n := range e.Nodes {
				nodes = append(nodes, n.Node)
			}
			got = append(got, "extenders:"+e.Pod.Name+":"+strings.Join(nodes, ","))
		case CallPreemptionExtenders:
			var nodes []string
			for _, c := range e.Candidates {
				nodes = append(nodes, c.Node)
			}
			got = append(got, "preemptextenders:"+e.Pod.Name+":"+strings.Join(nodes, ","))
		case Preempt:
			got = append(got, "preempt:"+e.Pod.Name+":"+e.Plan.Node)
		case ClearNomination:
			got = append(got, "clear:"+e.Pod.Name)
		case BindVolumes:
			got = append(got, "volumes:"+e.Pod.Name+":"+e.Node)
		case ReportDeferredResize:
			outcome := e.Summary.Outcome.String()
			if p := e.Summary.Preemption; p != nil {
				outcome = p.Outcome.String()
			}
			got = append(got, "resize:"+e.Pod.Name+":"+outcome)
		case ReportGated:
			got = append(got, "gated:"+e.Pod.Name+":"+e.Verdict.Plugin.String())
		}
	}
	if g := strings.Join(got, " "); g != want {
		s.t.Fatalf("effects %q, want %q", g, want)
	}
}

// outcome returns an outcome of the nth effect of the last step.
func (s *machineTest) outcome(n int, r Result) Outcome {
	return Outcome{ID: s.last[n].EffectID(), Result: r, Reason: "server error"}
}

func (s *machineTest) wait(d time.Duration) { s.now = s.now.Add(d) }

func (s *machineTest) expectPool(uid string, want queue.Pool) {
	s.t.Helper()
	if got := s.m.queue.PoolOf(uid); got != want {
		s.t.Fatalf("pod %s is in pool %q, want %q", uid, got, want)
	}
}

func smallPod(name, node string) *model.Pod {
	return &model.Pod{Namespace: "ns", Name: name, UID: name, Spec: spec(600), NodeName: node}
}

func TestUnknownBindIsRefreshedAndRetried(t *testing.T) {
	s := newMachineTest(t)
	s.step("bind:a:n1", smallPod("a", ""))
	first := s.outcome(0, Done)
	s.step("refresh:a", s.outcome(0, Unknown))
	unbound := s.outcome(0, Done)
	unbound.Pod = smallPod("a", "")
	s.step("bind:a:n1", unbound)
	if b := s.last[0].(Bind); !b.Retry {
		t.Error("Retry of the second Bind is false, want true")
	}
	refused := s.outcome(0, Refused)
	s.step("", first) // superseded
	if a := s.m.attempts["a"]; a == nil || a.stage != binding {
		t.Fatal("the outcome of a superseded effect ended the attempt")
	}
	s.step("", refused) // the first Bind may still succeed
	if !s.m.state.Assumed("a") {
		t.Fatal("the assumption ended while a Bind may still succeed")
	}
	s.step("bound:a:n1", smallPod("a", "n1"))
	if len(s.m.attempts) != 0 || s.m.state.Assumed("a") {
		t.Error("a pod that is bound still has an attempt")
	}
}

// unboundOutcome returns an outcome of the last step's RefreshPod with an unbound pod.
func (s *machineTest) unboundOutcome(name string) Outcome {
	o := s.outcome(0, Done)
	o.Pod = smallPod(name, "")
	return o
}

// exhaustBinds makes a pod's Binds fail until no more are sent.
func (s *machineTest) exhaustBinds(name string) {
	s.t.Helper()
	s.step("bind:"+name+":n1", smallPod(name, ""))
	s.step("refresh:"+name, s.outcome(0, Unknown))
	for _, delay := range []time.Duration{0, 5 * time.Second, 10 * time.Second, 20 * time.Second} {
		if delay > 0 {
			s.step("", s.unboundOutcome(name))
			s.wait(delay - 1)
			s.step("")
			s.wait(1)
			s.step("refresh:" + name)
		}
		s.step("bind:"+name+":n1", s.unboundOutcome(name))
		s.step("refresh:"+name, s.outcome(0, Unknown))
	}
}

// TestBindRetriesAreExhausted checks that a failing Bind is retried a few times with increasing delays. The attempt
// fails once no Bind can succeed any more.
func TestBindRetriesAreExhausted(t *testing.T) {
	s := newMachineTest(t)
	s.exhaustBinds("a")
	s.step("", s.unboundOutcome("a"))
	s.step("report:b:unschedulable", smallPod("b", ""))
	s.wait(s.m.cfg.BindTimeout - 1)
	s.step("")
	s.wait(1)
	s.step("refresh:a")
	s.step("report:a:error bind:b:n1", s.unboundOutcome("a"))
	s.expectError(`binding to node "n1" failed: server error`)
	s.expectPool("a", queue.ErrorBackoff)
}

// TestRefreshSentBeforeUncertaintyEnds checks that a refresh sent while a Bind may still succeed is
// not conclusive.
func TestRefreshSentBeforeUncertaintyEnds(t *testing.T) {
	s := newMachineTest(t)
	s.exhaustBinds("a")
	s.wait(s.m.cfg.BindTimeout - s.m.cfg.RetryInterval - 1)
	s.step("", s.outcome(0, Unknown))
	s.wait(s.m.cfg.RetryInterval)
	s.step("refresh:a")
	s.wait(2)
	s.step("refresh:a", s.unboundOutcome("a"))
	s.step("report:a:error", s.unboundOutcome("a"))
}

// TestReportBoundWithoutBindOutcome checks that a successful Bind without an outcome is reported
// once, unless a later outcome reports it.
func TestReportBoundWithoutBindOutcome(t *testing.T) {
	for name, run := range map[string]func(*machineTest, Outcome){
		"outcome unknown, refresh finds the binding": func(s *machineTest, first Outcome) {
			first.Result = Unknown
			s.step("refresh:a", first)
			refreshed := s.outcome(0, Done)
			refreshed.Pod = smallPod("a", "n1")
			s.wait(time.Second)
			s.step("bound:a:n1", refreshed)
			if b := s.last[0].(ReportBound); b.Duration != time.Second || b.Attempt != 1 || !b.First.Equal(t0) {
				t.Errorf("got %+v, want a duration of 1s, attempt 1 and the first time %v", b, t0)
			}
		},
		"watch event, then outcome unknown": func(s *machineTest, first Outcome) {
			s.step("", smallPod("a", "n1"))
			first.Result = Unknown
			s.step("bound:a:n1", first)
		},
		"watch event, then outcome done": func(s *machineTest, first Outcome) {
			s.step("", smallPod("a", "n1"))
			s.step("", first)
		},
		"outcome unknown, the retry succeeds": func(s *machineTest, first Outcome) {
			first.Result = Unknown
			s.step("refresh:a", first)
			s.step("bind:a:n1", s.unboundOutcome("a"))
			s.step("bound:a:n1", s.outcome(0, Done))
		},
		"bound to another node": func(s *machineTest, first Outcome) {
			first.Result = Unknown
			s.step("refresh:a", first)
			s.step("", smallPod("a", "n2"))
		},
		"deleted before the outcome is unknown": func(s *machineTest, first Outcome) {
			s.step("", smallPod("a", "n1"), Remove{smallPod("a", "")})
			first.Result = Unknown
			s.step("", first)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newMachineTest(t)
			s.step("bind:a:n1", smallPod("a", ""))
			run(s, s.outcome(0, Done))
			s.step("", smallPod("a", "n1"))
			if len(s.m.attemptsByEffect)+len(s.m.attempts) != 0 {
				t.Errorf("effects %v and attempts %v remain, want none", s.m.attemptsByEffect, s.m.attempts)
			}
		})
	}
}

func TestUnconfirmedBoundPodIsRefreshed(t *testing.T) {
	s := newMachineTest(t)
	s.step("bind:a:n1", smallPod("a", ""))
	s.step("", s.outcome(0, Done))
	s.expectPool("a", queue.NotQueued)
	s.wait(s.m.cfg.ConfirmTimeout)
	s.step("refresh:a")
	s.step("", s.outcome(0, Unknown))
	s.wait(s.m.cfg.RetryInterval)
	s.step("refresh:a")
	s.step("", s.outcome(0, Done)) // the pod was deleted
	if s.m.state.Pod("a") != nil || len(s.m.attempts) != 0 {
		t.Error("a deleted pod is still in the state")
	}
}

func TestRefusedBindForgetsPod(t *testing.T) {
	s := newMachineTest(t)
	s.step("bind:a:n1", smallPod("a", ""))
	refused := s.outcome(0, Refused)
	s.step("report:b:unschedulable", smallPod("b", ""))
	s.wait(3 * time.Second)
	s.step("report:a:error bind:b:n1", refused)
	s.expectPool("a", queue.ErrorBackoff)
}

func TestOnlySpecChangesRequeue(t *testing.T) {
	s := newMachineTest(t)
	s.step("report:a:unschedulable", &model.Pod{Namespace: "ns", Name: "a", UID: "a", Spec: spec(2000)})
	s.step("", s.outcome(0, Done), &model.Pod{Namespace: "ns", Name: "a", UID: "a", Spec: spec(2000), UnschedulableReason: "Unschedulable"})
	s.expectPool("a", queue.Unschedulable)
	s.step("", &model.Node{Name: "n1", UID: "n1", AllocatablePods: 10, Ready: true, Allocatable: model.Resources{MilliCPU: 900}})
	s.expectPool("a", queue.Unschedulable)
	s.wait(2 * time.Second)
	s.step("bind:a:n1", &model.Pod{Namespace: "ns", Name: "a", UID: "a", Spec: spec(900)})
}

func TestGatedPodEntersQueueWithoutGates(t *testing.T) {
	s := newMachineTest(t)
	gated := smallPod("a", "")
	gated.Spec = &model.PodSpec{SchedulerName: "default-scheduler", Gates: []string{"g"}}
	s.step("gated:a:SchedulingGates", gated)
	s.expectPool("a", queue.Gated)
	s.step("bind:a:n1", s.outcome(0, Done), smallPod("a", ""))
}

func TestPodsThatNeedNoNodeAreIgnored(t *testing.T) {
	s := newMachineTest(t)
	otherScheduler, terminating, finished := smallPod("a", ""), smallPod("b", ""), smallPod("c", "")
	otherScheduler.Spec = &model.PodSpec{SchedulerName: "other"}
	terminating.Deleting = true
	finished.Phase = model.Failed
	s.step("", otherScheduler, terminating, finished)
	s.step("bind:d:n1", smallPod("d", ""))
	terminating = smallPod("d", "")
	terminating.Deleting = true
	s.step("", terminating, s.outcome(0, Conflict))
	s.expectPool("d", queue.NotQueued)
	if s.m.Depths() != (queue.Depths{}) {
		t.Errorf("queue depths %+v, want an empty queue", s.m.Depths())
	}
}

func TestUnwrittenReportIsRetried(t *testing.T) {
	s := newMachineTest(t)
	p := &model.Pod{Namespace: "ns", Name: "a", UID: "a", Spec: spec(2000)}
	s.step("report:a:unschedulable", p)
	s.step("", s.outcome(0, Unknown))
	s.wait(s.m.cfg.RetryInterval)
	s.step("report:a:unschedulable")
	if !s.last[0].(ReportUnschedulable).Retry {
		t.Error("Retry of the second report is false, want true")
	}
	s.step("", s.outcome(0, Unknown), Remove{p})
	s.wait(s.m.cfg.RetryInterval)
	s.step("")
}

// TestLateBindOutcomeReportsBindingOnce checks that the outcome Done of the first Bind reports the binding, however
// late it is. The machine emits ReportBound after any other late outcome.
func TestLateBindOutcomeReportsBindingOnce(t *testing.T) {
	for name, tc := range map[string]struct {
		result Result
		report string // effects of the outcome
	}{
		"done":    {Done, ""},
		"refused": {Refused, "bound:a:n1"},
		"unknown": {Unknown, "bound:a:n1"},
	} {
		for when, watch := range map[string]bool{"watch event first": true, "outcome of another Bind first": false} {
			t.Run(name+", "+when, func(t *testing.T) {
				s := newMachineTest(t)
				s.step("bind:a:n1", smallPod("a", ""))
				first := s.outcome(0, tc.result)
				s.wait(s.m.cfg.BindTimeout)
				s.step("refresh:a")
				if watch {
					s.step("", smallPod("a", "n1"))
				} else {
					s.step("bind:a:n1", s.unboundOutcome("a"))
					s.step("", s.outcome(0, Done))
				}
				s.step(tc.report, first)
				s.step("", smallPod("a", "n1"))
				if len(s.m.attemptsByEffect)+len(s.m.attempts) != 0 {
					t.Errorf("effects %v and attempts %v remain, want none", s.m.attemptsByEffect, s.m.attempts)
				}
			})
		}
	}
	t.Run("the report comes before the pod is observed", func(t *testing.T) {
		s := newMachineTest(t)
		s.step("bind:a:n1", smallPod("a", ""))
		first := s.outcome(0, Done)
		s.wait(s.m.cfg.BindTimeout)
		s.step("refresh:a")
		s.step("", first)
		s.step("", smallPod("a", "n1"))
	})
}

// TestConflictKeepsUncertainBind checks that a conflict of a second Bind is not conclusive about the
// first.
func TestConflictKeepsUncertainBind(t *testing.T) {
	s := newMachineTest(t)
	s.step("bind:a:n1", smallPod("a", ""))
	s.step("refresh:a", s.outcome(0, Unknown))
	s.step("bind:a:n1", s.unboundOutcome("a"))
	s.step("", s.outcome(0, Conflict))
	s.wait(s.m.cfg.RetryInterval)
	s.step("refresh:a report:b:unschedulable", smallPod("b", "")) // a uses the node
	s.step("bind:b:n1", s.outcome(0, Done))                       // a was deleted
}
