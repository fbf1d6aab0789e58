package drain

import (
	"testing"
	"time"

	"github.com/berthproject/berth/engine/model"
)

// TestSurgeEndsWhenPodIsDeleted checks that the deletion of the pod ends its surge. Otherwise the drain
// would wait for an additional pod that may never be created.
func TestSurgeEndsWhenPodIsDeleted(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	m := &Machine{timeouts: DefaultTimeouts()}
	s := &surge{move: &Move{Pod: &model.Pod{}}, stage: scaledUp, since: now}
	deadline := now.Add(m.timeouts.Replacement)
	if wake, settled := m.settledSurge(now, nil, s); settled || !wake.Equal(deadline) {
		t.Errorf("while the pod exists: settled %v, wake %v; want false, %v", settled, wake, deadline)
	}
	s.move.setStage(granted, now)
	if wake, settled := m.settledSurge(deadline, nil, s); !settled || !wake.IsZero() {
		t.Errorf("after its deletion: settled %v, wake %v; want true, no time", settled, wake)
	}
}

// TestUndoneSurgeHasNoReplacement checks that the additional pod is not the replacement once the surge
// is undone.
func TestUndoneSurgeHasNoReplacement(t *testing.T) {
	extra := &model.Pod{UID: "extra", Owner: model.Owner{UID: "rs"}}
	x := &Move{Pod: &model.Pod{UID: "a", Owner: model.Owner{UID: "rs"}}}
	s := &surge{move: x, stage: scaledUp, extra: extra}
	m := &Machine{surges: map[string]*surge{"rs": s}, byUID: map[string]*Move{"a": x}, timeouts: DefaultTimeouts()}
	m.useSurgePod(x)
	if e := m.evictAction(x); e.SurgePod != extra || !x.Surged {
		t.Errorf("during the surge: SurgePod %v, Surged %v; want %v, true", e.SurgePod, x.Surged, extra)
	}
	s.stage = surgeDone
	if e := m.evictAction(x); e.SurgePod != nil {
		t.Errorf("after the surge: SurgePod %v, want nil", e.SurgePod)
	}
	x.setStage(requested, time.Time{})
	m.HandleEviction(time.Unix(1000, 0), "a", EvictionResult{Message: "no", Permanent: true})
	if x.Surged || x.Replacement != nil {
		t.Errorf("after a permanent refusal: Surged %v, replacement %v; want false, nil", x.Surged, x.Replacement)
	}
}
