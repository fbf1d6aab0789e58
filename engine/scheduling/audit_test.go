package scheduling

import (
	"testing"
	"time"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/queue"
)

// deaf is a machine that no change wakes anybody in, with a pod that waits for room
// which has come since.
func deaf(t *testing.T, audit, leftover time.Duration) (*Machine, time.Time) {
	t.Helper()
	cfg := DefaultConfig()
	cfg.AuditEvery, cfg.Queue.LeftoverAfter = audit, leftover
	cfg.Queue.Cares = func(decision.RuleSet) decision.Change { return decision.NoChange }
	cfg.Profiles = []Profile{{Name: "default-scheduler", New: func(s *cluster.State) Placer { return firstFit{s} }}}
	m, now := New(cfg), time.Unix(1000, 0)
	node := &model.Node{Name: "n", UID: "n", Pods: 10, Allocatable: model.Requests{MilliCPU: 100}}
	pod := &model.Pod{Namespace: "ns", Name: "p", UID: "p", Spec: &model.PodSpec{SchedulerName: "default-scheduler", Requests: model.Requests{MilliCPU: 500}}}
	m.Step(now, []Event{node, pod}, 10)
	larger := *node
	larger.Allocatable.MilliCPU = 1000
	m.Step(now, []Event{&larger}, 10)
	if at := m.queue.Where("p"); at != queue.Unschedulable {
		t.Fatalf("the pod is in %v", at)
	}
	return m, now
}

// until steps a machine when it asks for it, until there are effects.
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

func TestAuditFindsWhoWasNotWoken(t *testing.T) {
	m, now := deaf(t, 30*time.Second, time.Hour)
	effects, after := until(m, now, time.Hour)
	if len(effects) != 2 || after != 30*time.Second {
		t.Fatalf("after %v: %+v", after, effects)
	}
	missed, ok := effects[0].(Missed)
	if !ok || missed.Node != "n" || missed.Pod.UID != "p" || !missed.Rules.Has(decision.NodeResourcesFit) {
		t.Errorf("the audit says %+v", effects[0])
	}
	if bind, ok := effects[1].(Bind); !ok || bind.Node != "n" {
		t.Errorf("then comes %+v", effects[1])
	}
	if got := m.Woken(); got.Missed != 1 || got.Flushed != 0 {
		t.Errorf("counted %+v", got)
	}
}

func TestLeftoverThatFitsIsCounted(t *testing.T) {
	m, now := deaf(t, 0, 5*time.Minute)
	effects, after := until(m, now, time.Hour)
	if len(effects) != 1 || after != 5*time.Minute {
		t.Fatalf("after %v: %+v", after, effects)
	}
	if _, ok := effects[0].(Bind); !ok {
		t.Errorf("got %+v", effects[0])
	}
	if got := m.Woken(); got.Missed != 0 || got.Flushed != 1 {
		t.Errorf("counted %+v", got)
	}
}
