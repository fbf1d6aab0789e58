package drain

import (
	"testing"
	"time"

	"github.com/berthproject/berth/engine/model"
)

// TestASurgeIsNotWaitedForWhosePodLeftByItself: nobody might ever make the one more, and the drain would turn on the spot.
func TestASurgeIsNotWaitedForWhosePodLeftByItself(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	m := &Machine{patience: DefaultPatience()}
	s := &surge{move: &Move{Pod: &model.Pod{}}, stage: up, since: now}
	later := now.Add(m.patience.Replacement)
	if wake, settled := m.settledSurge(now, nil, s); settled || !wake.Equal(later) {
		t.Errorf("while the pod is there: settled %v, wake %v", settled, wake)
	}
	s.move.enter(granted, now)
	if wake, settled := m.settledSurge(later, nil, s); !settled || !wake.IsZero() {
		t.Errorf("when it has left: settled %v, wake %v", settled, wake)
	}
}

// TestNobodyStandsInOnceASurgeIsTakenBack: the pod that was made for it is one of those that are asked for.
func TestNobodyStandsInOnceASurgeIsTakenBack(t *testing.T) {
	extra := &model.Pod{UID: "extra", Owner: model.Owner{UID: "rs"}}
	x := &Move{Pod: &model.Pod{UID: "a", Owner: model.Owner{UID: "rs"}}}
	s := &surge{move: x, stage: up, extra: extra}
	m := &Machine{surges: map[string]*surge{"rs": s}, byUID: map[string]*Move{"a": x}, patience: DefaultPatience()}
	m.standIn(x)
	if e := m.eviction(x); e.StandIn != extra || !x.Surged {
		t.Errorf("while it is up: %v", e.StandIn)
	}
	s.stage = over
	if e := m.eviction(x); e.StandIn != nil {
		t.Errorf("when it is taken back: %v", e.StandIn)
	}
	x.enter(asked, time.Time{})
	m.Answer(time.Unix(1000, 0), "a", Answer{Words: "no", Final: true})
	if x.Surged || x.Replacement != nil {
		t.Errorf("refused for good it is replaced by %v", x.Replacement)
	}
}
