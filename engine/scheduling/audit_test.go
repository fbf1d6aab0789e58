package scheduling

import (
	"testing"
	"time"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/queue"
	"github.com/berthproject/berth/engine/scheduling/profiles"
)

// machineWithoutWakeups returns a machine in which no event wakes pods up. Its only pod is in the
// unschedulable pool, although resources for it have become free.
func machineWithoutWakeups(t *testing.T, audit, maxUnschedulable time.Duration) (*Machine, time.Time) {
	t.Helper()
	cfg := DefaultConfig()
	cfg.AuditInterval, cfg.Queue.MaxUnschedulableDuration = audit, maxUnschedulable
	cfg.Queue.EventsToRegister = func(decision.PluginSet) decision.ClusterEvents { return decision.NoEvent }
	cfg.Profiles = []profiles.Profile{{Name: "default-scheduler", NewPlacer: func(s *cluster.State) profiles.Placer { return firstFit{s} }}}
	m, now := New(cfg), time.Unix(1000, 0)
	node := &model.Node{Name: "n", UID: "n", AllocatablePods: 10, Allocatable: model.Resources{MilliCPU: 100}}
	pod := &model.Pod{Namespace: "ns", Name: "p", UID: "p", Spec: &model.PodSpec{SchedulerName: "default-scheduler", Requests: model.Resources{MilliCPU: 500}}}
	m.Step(now, []Event{node, pod}, 10)
	larger := *node
	larger.Allocatable.MilliCPU = 1000
	m.Step(now, []Event{&larger}, 10)
	if pool := m.queue.PoolOf("p"); pool != queue.Unschedulable {
		t.Fatalf("the pod is in %v, want unschedulable", pool)
	}
	return m, now
}

// stepUntilEffect steps a machine at its wake times until it returns effects, at most for limit. It
// returns the effects and the time until then.
func stepUntilEffect(m *Machine, now time.Time, limit time.Duration) ([]Effect, time.Duration) {
	for step := now; !step.After(now.Add(limit)); {
		effects, wake := m.Step(step, nil, 10)
		if len(effects) > 0 {
			return effects, step.Sub(now)
		}
		step = wake
	}
	return nil, limit
}

func TestAuditFindsMissedWakeup(t *testing.T) {
	m, now := machineWithoutWakeups(t, 30*time.Second, time.Hour)
	effects, after := stepUntilEffect(m, now, time.Hour)
	if len(effects) != 2 || after != 30*time.Second {
		t.Fatalf("effects %+v after %v, want 2 after 30s", effects, after)
	}
	missed, ok := effects[0].(MissedWakeup)
	if !ok || missed.Node != "n" || missed.Pod.UID != "p" || !missed.RejectedBy.Has(decision.NodeResourcesFit) {
		t.Errorf("first effect %+v, want a MissedWakeup of p on n", effects[0])
	}
	if bind, ok := effects[1].(Bind); !ok || bind.Node != "n" {
		t.Errorf("second effect %+v, want a Bind to n", effects[1])
	}
	if got := m.WakeupCounts(); got.MissedWakeups != 1 || got.Flushed != 0 {
		t.Errorf("counts %+v, want 1 missed wake-up", got)
	}
}

func TestFlushedPodThatFitsIsCounted(t *testing.T) {
	m, now := machineWithoutWakeups(t, 0, 5*time.Minute)
	effects, after := stepUntilEffect(m, now, time.Hour)
	if len(effects) != 1 || after != 5*time.Minute {
		t.Fatalf("effects %+v after %v, want 1 after 5m0s", effects, after)
	}
	if _, ok := effects[0].(Bind); !ok {
		t.Errorf("effect %+v, want a Bind", effects[0])
	}
	if got := m.WakeupCounts(); got.MissedWakeups != 0 || got.Flushed != 1 {
		t.Errorf("counts %+v, want 1 flushed pod", got)
	}
}
