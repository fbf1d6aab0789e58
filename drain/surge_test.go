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
