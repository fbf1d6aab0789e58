package evacuation

import (
	"testing"
	"time"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/model"
)

// TestSurgeEndsWhenPodIsDeleted checks that the deletion of the pod ends its surge. Otherwise the drain would wait for an
// additional pod that may never be created.
func TestSurgeEndsWhenPodIsDeleted(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	d := NewDrain(NewView(cluster.New()), nil, DrainOptions{}, Timeouts{}, nil)
	s := &surge{move: &Move{Pod: &model.Pod{}}, stage: scaledUp, since: now}
	deadline := now.Add(d.timeouts.Replacement)
	before := &step{Machine: d.Machine, now: now}
	d.observeSurge(before, s)
	if d.surgeSettled(before, s) || !before.wake.Equal(deadline) {
		t.Errorf("while the pod exists: settled true or wake %v; want false, %v", before.wake, deadline)
	}
	s.move.setEvicted(now)
	after := &step{Machine: d.Machine, now: deadline}
	d.observeSurge(after, s)
	if !d.surgeSettled(after, s) || !after.wake.IsZero() || s.failure != "" {
		t.Errorf("after its deletion: settled false, wake %v or failure %q; want true, no time, none", after.wake, s.failure)
	}
}

// TestUndoneSurgeHasNoReplacement checks that the additional pod is not the replacement once the surge is undone.
func TestUndoneSurgeHasNoReplacement(t *testing.T) {
	owner := model.Owner{Kind: "ReplicaSet", UID: "rs"}
	extra := &model.Pod{UID: "extra", Owner: owner}
	x := &Move{Pod: &model.Pod{UID: "a", Owner: owner}}
	s := &surge{move: x, stage: scaledUp, extra: extra, failure: "the additional pod cannot be scheduled"}
	d := NewDrain(NewView(cluster.New()), nil, DrainOptions{}, Timeouts{}, nil)
	d.surges["rs"], d.byUID["a"], d.moves = s, x, []*Move{x}
	d.useSurgePod(x)
	if x.surgePod != extra || x.Replacement != extra || !x.Surged {
		t.Errorf("during the surge: SurgePod %v, replacement %v, Surged %v; want %v twice, true", x.surgePod, x.Replacement, x.Surged, extra)
	}
	if d.surgeDown(&step{Machine: d.Machine}); x.surgePod != nil {
		t.Errorf("after the surge: SurgePod %v, want nil", x.surgePod)
	}
	d.withdraw(time.Unix(1000, 0), x, "no", true)
	if x.Surged || x.Replacement != nil {
		t.Errorf("after a permanent refusal: Surged %v, replacement %v; want false, nil", x.Surged, x.Replacement)
	}
}
