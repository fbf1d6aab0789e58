package planning

import (
	"testing"

	"github.com/berthproject/berth/engine/descheduling"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement/framework"
)

// TestInProgressMovesAreApplied checks that moves in progress keep their resources and their
// disruptions, and that their Holds do not reserve the capacity twice.
func TestInProgressMovesAreApplied(t *testing.T) {
	web, db := newPod("web-1", "a", 1500), newPod("db-1", "b", 1200)
	placeholder := newPod("web-1", "", 1500)
	placeholder.NominatedNodeName, placeholder.Placeholder, placeholder.UID = "b", true, "hold/x/h"
	hold := &model.Hold{Namespace: "x", Name: "h", Type: model.Reserve, Owner: web.Owner, Node: "b", Cause: HoldCause, Until: now.Add(1e12), Victim: web.UID, Placeholder: placeholder}
	s := stateOf(newNode("a"), newNode("b"), web, newPod("web-2", "a", 1500), newPod("mid-1", "a", 900), db, hold,
		budgetOf("web", 1, model.IntOrPercent{Set: true, Value: 1}))
	snap := snapshot(s)
	inProgress := []descheduling.InProgressMove{{Pod: web, Details: &descheduling.PodDetails{}, To: "b", Hold: hold}}
	for _, tc := range []struct {
		name       string
		inProgress []descheduling.InProgressMove
		want       string
	}{
		{"web-2", nil, "b"},        // it would use the reservation of its owner
		{"web-2", inProgress, ""},  // the reservation is used
		{"mid-1", inProgress, "b"}, // 1200, 1500 and 900 fit: the Hold and its pod count once
		{"web-1", inProgress, "moving"},
	} {
		p := New(snap, s, Options{Now: now, Profiles: profiles(t), InProgress: tc.inProgress})
		to, _ := p.Move("S", "p", candidate(snap, tc.name))
		got := ""
		if to != nil {
			got = to.Name
		} else if p.Plan().Refused[0].Reason == PodUnavailable {
			got = "moving"
		}
		if got != tc.want {
			t.Errorf("%s with %d moves in progress moves to %q, want %q: %+v", tc.name, len(tc.inProgress), got, tc.want, p.Plan().Refused)
		}
	}
	s.UpsertPod(newPod("web-3", "a", 100))
	snap = snapshot(s)
	for i, moves := range [][]descheduling.InProgressMove{nil, inProgress} {
		p := New(snap, s, Options{Now: now, Profiles: profiles(t), InProgress: moves})
		p.Move("S", "p", candidate(snap, "web-3"))
		if m := p.Plan().Moves; len(m) != 1 || (m[0].WaitReason != "") != (i == 1) {
			t.Errorf("with %d moves in progress: plan %+v, want one move that waits for its budget: %t", len(moves), p.Plan(), i == 1)
		}
	}
}

// TestEachPodUsesItsSchedulersProfile checks that a pod whose scheduler ignores Holds moves only
// if that scheduler selects the planned node, regardless of Holds and excluded nodes.
func TestEachPodUsesItsSchedulersProfile(t *testing.T) {
	c := framework.DefaultConfig()
	c.Name = "other"
	other, err := framework.NewProfile(c)
	if err != nil {
		t.Fatal(err)
	}
	byScheduler := profiles(t)
	byScheduler["other"] = other
	otherPod := newPod("other-1", "a", 500)
	spec := *otherPod.Spec
	spec.SchedulerName = "other"
	otherPod.Spec = &spec
	s := stateOf(newNode("a"), newNode("b"), otherPod, newPod("web-1", "a", 500), newPod("db-1", "b", 2000))
	snap := snapshot(s)
	p := New(snap, s, Options{Now: now, Profiles: byScheduler, SchedulersWithoutHolds: map[string]bool{"other": true}})
	p.SetExcluded(snap.Nodes[0], true) // a must be emptied, although both schedulers prefer it
	if to, _ := p.Move("S", "p", candidate(snap, "web-1")); to == nil || to.Name != "b" || p.Plan().Moves[0].Mode != WithHolds {
		t.Errorf("pod of the default scheduler: moved to %v, want b: %+v", to, p.Plan())
	}
	if to, accepted := p.Move("S", "p", candidate(snap, "other-1")); accepted || p.Plan().Refused[0].Reason != WouldReturn && p.Plan().Refused[0].Reason != NoOtherNode {
		t.Errorf("pod of the other scheduler: moved to %v, want a refusal: %+v", to, p.Plan().Refused)
	}
	s.UpsertPod(newPod("heavy-1", "a", 2900))
	snap = snapshot(s)
	p = New(snap, s, Options{Now: now, Profiles: byScheduler, SchedulersWithoutHolds: map[string]bool{"other": true}})
	if to, _ := p.Move("S", "p", candidate(snap, "other-1")); to == nil || p.Plan().Moves[0].Mode != WithoutHolds || len(p.Plan().Moves[0].TopNodes) != 1 {
		t.Errorf("pod of the other scheduler, node a full: moved to %v, want a move without Holds: %+v", to, p.Plan())
	}
}
