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

// machineWithoutWakeups returns a machine without queueing hints, with a pod that waits for
// resources which have become free.
func machineWithoutWakeups(t *testing.T, audit, leftover time.Duration) (*Machine, time.Time) {
	t.Helper()
	cfg := DefaultConfig()
	cfg.AuditInterval, cfg.Queue.MaxUnschedulableDuration = audit, leftover
	cfg.Queue.EventsToRegister = func(decision.PluginSet) decision.ClusterEvents { return decision.NoEvent }
	cfg.Profiles = []profiles.Profile{{Name: "default-scheduler", NewPlacer: func(s *cluster.State) profiles.Placer { return firstFit{s} }}}
	m, now := New(cfg), time.Unix(1000, 0)
	node := &model.Node{Name: "n", UID: "n", AllocatablePods: 10, Allocatable: model.Resources{MilliCPU: 100}}
	pod := &model.Pod{Namespace: "ns", Name: "p", UID: "p", Spec: &model.PodSpec{SchedulerName: "default-scheduler", Requests: model.Resources{MilliCPU: 500}}}
	m.Step(now, []Event{node, pod}, 10)
	larger := *node
	larger.Allocatable.MilliCPU = 1000
	m.Step(now, []Event{&larger}, 10)
	if at := m.queue.PoolOf("p"); at != queue.Unschedulable {
		t.Fatalf("the pod is in %v", at)
	}
	return m, now
}

// until steps a machine at its wake times until there are effects.
func until(m *Machine, now time.Time, limit time.Duration) ([]Effect, time.Duration) {
	for at := now; !at.After(now.Add(limit)); {
		effects, wake := m.Step(at, nil, 10)
		if len(effects) > 0 {
			return effects, at.Sub(now)
		}
		at = wake
	}
	return nil, limit
}

func TestAuditFindsMissedWakeup(t *testing.T) {
	m, now := machineWithoutWakeups(t, 30*time.Second, time.Hour)
	effects, after := until(m, now, time.Hour)
	if len(effects) != 2 || after != 30*time.Second {
		t.Fatalf("after %v: %+v", after, effects)
	}
	missed, ok := effects[0].(MissedWakeup)
	if !ok || missed.Node != "n" || missed.Pod.UID != "p" || !missed.RejectedBy.Has(decision.NodeResourcesFit) {
		t.Errorf("the audit reports %+v", effects[0])
	}
	if bind, ok := effects[1].(Bind); !ok || bind.Node != "n" {
		t.Errorf("the next effect is %+v", effects[1])
	}
	if got := m.WakeupCounts(); got.MissedWakeups != 1 || got.Flushed != 0 {
		t.Errorf("counted %+v", got)
	}
}

func TestFlushedPodThatFitsIsCounted(t *testing.T) {
	m, now := machineWithoutWakeups(t, 0, 5*time.Minute)
	effects, after := until(m, now, time.Hour)
	if len(effects) != 1 || after != 5*time.Minute {
		t.Fatalf("after %v: %+v", after, effects)
	}
	if _, ok := effects[0].(Bind); !ok {
		t.Errorf("got %+v", effects[0])
	}
	if got := m.WakeupCounts(); got.MissedWakeups != 0 || got.Flushed != 1 {
		t.Errorf("counted %+v", got)
	}
}
