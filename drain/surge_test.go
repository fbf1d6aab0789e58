package drain

import (
	"testing"
	"time"

	"github.com/berthproject/berth/engine/model"
)

// TestSurgeEndsWhenPodIsGone: nothing might ever make the one more, and the drain would turn on the spot.
func TestSurgeEndsWhenPodIsGone(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	m := &Machine{timeouts: DefaultTimeouts()}
	s := &surge{move: &Move{Pod: &model.Pod{}}, stage: scaledUp, since: now}
	later := now.Add(m.timeouts.Replacement)
	if wake, settled := m.settledSurge(now, nil, s); settled || !wake.Equal(later) {
		t.Errorf("while the pod is there: settled %v, wake %v", settled, wake)
	}
	s.move.setStage(granted, now)
	if wake, settled := m.settledSurge(later, nil, s); !settled || !wake.IsZero() {
		t.Errorf("when it has left: settled %v, wake %v", settled, wake)
	}
}

// TestUndoneSurgeHasNoReplacement: the pod that was made for it is one of those that are asked for.
func TestUndoneSurgeHasNoReplacement(t *testing.T) {
	extra := &model.Pod{UID: "extra", Owner: model.Owner{UID: "rs"}}
	x := &Move{Pod: &model.Pod{UID: "a", Owner: model.Owner{UID: "rs"}}}
	s := &surge{move: x, stage: scaledUp, extra: extra}
	m := &Machine{surges: map[string]*surge{"rs": s}, byUID: map[string]*Move{"a": x}, timeouts: DefaultTimeouts()}
	m.useSurgePod(x)
	if e := m.evictAction(x); e.SurgePod != extra || !x.Surged {
		t.Errorf("while it is up: %v", e.SurgePod)
	}
	s.stage = surgeDone
	if e := m.evictAction(x); e.SurgePod != nil {
		t.Errorf("when it is taken back: %v", e.SurgePod)
	}
	x.setStage(requested, time.Time{})
	m.HandleEviction(time.Unix(1000, 0), "a", EvictionResult{Message: "no", Permanent: true})
	if x.Surged || x.Replacement != nil {
		t.Errorf("refused for good it is replaced by %v", x.Replacement)
	}
}
