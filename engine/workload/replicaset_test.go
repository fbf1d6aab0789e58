package workload

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/berthproject/berth/engine/model"
)

// pod returns a ready pod on a node, one minute old, with edits applied.
func pod(uid string, edits ...func(*Pod)) Pod {
	p := Pod{Name: uid, UID: uid, Node: "n1", Phase: model.Running, Ready: true, Created: at(-time.Minute), ReadySince: at(-50 * time.Second), Labels: model.LabelsOf(map[string]string{"app": "web"})}
	for _, e := range edits {
		e(&p)
	}
	return p
}

func TestRankForDeletion(t *testing.T) {
	// In each pair the first pod is deleted first.
	for name, tc := range map[string][2]Pod{
		"not bound":                            {pod("b", func(p *Pod) { p.Node = "" }), pod("a", func(p *Pod) { p.Phase = model.Pending })},
		"pending":                              {pod("b", func(p *Pod) { p.Phase = model.Pending }), pod("a", func(p *Pod) { p.Phase = model.UnknownPhase })},
		"unknown":                              {pod("b", func(p *Pod) { p.Phase = model.UnknownPhase }), pod("a")},
		"not ready":                            {pod("b", func(p *Pod) { p.Ready, p.Cost = false, 9 }), pod("a")},
		"lower deletion cost":                  {pod("b", func(p *Pod) { p.Cost = -1 }), pod("a", func(p *Pod) { p.Node = "n2" })},
		"on the node with more replicas":       {pod("b", func(p *Pod) { p.Node = "n2"; p.ReadySince = at(-time.Hour) }), pod("a")},
		"ready for a shorter time":             {pod("b", func(p *Pod) { p.ReadySince = at(-time.Second) }), pod("a", func(p *Pod) { p.Restarts = 7 })},
		"restarted more":                       {pod("b", func(p *Pod) { p.Restarts = 1 }), pod("a")},
		"sidecars restarted":                   {pod("b", func(p *Pod) { p.SidecarRestarts = 1 }), pod("a", func(p *Pod) { p.Created = at(0) })},
		"younger":                              {pod("b", func(p *Pod) { p.Created = at(-10 * time.Second) }), pod("a")},
		"created in the same interval: by uid": {pod("a", func(p *Pod) { p.Created = at(-61 * time.Second) }), pod("b")},
		"equal creation times: by uid":         {pod("a"), pod("b")},
	} {
		t.Run(name, func(t *testing.T) {
			for _, order := range [][]Pod{{tc[0], tc[1]}, {tc[1], tc[0]}} {
				got := RankForDeletion(t0, order, map[string]int{"n1": 1, "n2": 2})
				if order[got[0]].UID != tc[0].UID {
					t.Errorf("%s is deleted before %s, want the reverse order", order[got[0]].UID, order[got[1]].UID)
				}
			}
		})
	}
}

func TestReplicaSetPlan(t *testing.T) {
	rs := ReplicaSet{Replicas: 3, MinReady: 40 * time.Second, Generation: 2, Labels: model.LabelsOf(map[string]string{"app": "web"})}
	notAvailable := func(p *Pod) { p.ReadySince = at(-10 * time.Second) }
	terminating := func(p *Pod) { p.Deleting = true }
	failed := func(p *Pod) { p.Phase = model.Failed }
	for name, tc := range map[string]struct {
		change    func(*ReplicaSet)
		pods      []Pod
		notBefore time.Time
		want      string
		ready     string // replicas, ready, available, terminating
		wake      time.Duration
		noWake    bool
	}{
		"creates missing pods":              {pods: []Pod{pod("a"), pod("b", terminating), pod("c", failed)}, want: "2 delayed 0 []", ready: "1 1 1 1", noWake: true},
		"waits for the backoff":             {pods: []Pod{pod("a")}, notBefore: at(time.Minute), want: "0 delayed 2 []", ready: "1 1 1 0", wake: time.Minute},
		"an expired backoff":                {pods: []Pod{pod("a")}, notBefore: at(-time.Minute), want: "2 delayed 0 []", ready: "1 1 1 0", noWake: true},
		"pods younger than minReadySeconds": {pods: []Pod{pod("a"), pod("b", notAvailable), pod("c")}, want: "0 delayed 0 []", ready: "3 3 2 0", wake: 30 * time.Second},
		"young pods are deleted first":      {pods: []Pod{pod("a", func(p *Pod) { p.Cost = -5 }), pod("b", notAvailable), pod("c"), pod("d")}, want: "0 delayed 0 [1]", ready: "4 4 3 0", wake: 30 * time.Second},
		"terminating ReplicaSet":            {change: func(r *ReplicaSet) { r.Deleting = true }, want: "0 delayed 0 []", ready: "0 0 0 0", noWake: true},
		"a thousand pods in two plans":      {change: func(r *ReplicaSet) { r.Replicas = 1000 }, want: "500 delayed 0 []", ready: "0 0 0 0", noWake: true},
	} {
		t.Run(name, func(t *testing.T) {
			r := rs
			if tc.change != nil {
				tc.change(&r)
			}
			p := r.Plan(t0, tc.pods, nil, tc.notBefore)
			if got := fmt.Sprintf("%d delayed %d %v", p.Create, p.Delayed, p.Delete); got != tc.want {
				t.Errorf("plan %s, want %s", got, tc.want)
			}
			s := p.Status
			if got := fmt.Sprintf("%d %d %d %d", s.Replicas, s.Ready, s.Available, s.Terminating); got != tc.ready || s.Observed != 2 || s.FullyLabeled != s.Replicas {
				t.Errorf("status %+v, want %s", s, tc.ready)
			}
			if p.Wake.IsZero() != tc.noWake || !tc.noWake && !p.Wake.Equal(at(tc.wake)) {
				want := at(tc.wake)
				if tc.noWake {
					want = time.Time{}
				}
				t.Errorf("wake time %v, want %v", p.Wake, want)
			}
		})
	}
}

func TestReplicaFailureStaysUntilSuccess(t *testing.T) {
	var c Conditions
	c = c.WithReplicaFailure(t0, "FailedCreate", "quota")
	c = c.WithReplicaFailure(at(time.Second), "FailedDelete", "other")
	if f := c.Get(ReplicaFailure); f == nil || f.Reason != "FailedCreate" || !f.Changed.Equal(t0) {
		t.Errorf("got condition %+v, want the first failure", f)
	}
	if c = c.WithReplicaFailure(at(time.Minute), "", ""); len(c) != 0 {
		t.Errorf("got %+v, want no condition", c)
	}
}

func TestWithKeepsTransitionTime(t *testing.T) {
	c := Conditions{}.With(t0, Condition{Type: "A", Status: True, Reason: "x"}).With(t0, Condition{Type: "B", Status: True, Reason: "y"})
	c = c.With(at(time.Second), Condition{Type: "A", Status: True, Reason: "z"})
	want := Conditions{{Type: "B", Status: True, Reason: "y", Updated: t0, Changed: t0}, {Type: "A", Status: True, Reason: "z", Updated: at(time.Second), Changed: t0}}
	if !slices.Equal(c, want) {
		t.Errorf("got %+v, want %+v", c, want)
	}
}

// TestExpectedReplacementIsNotCreatedAgain checks that a terminating pod is replaced if its
// expected replacement is missing, or once it is deleted.
func TestExpectedReplacementIsNotCreatedAgain(t *testing.T) {
	const surged, reset = 7, 8 // generations
	replaced := func(p *Pod) { p.Deleting, p.ExpectedReplacement, p.ReplacementGeneration = true, "c", surged }
	withoutGeneration := func(p *Pod) { p.ReplacementGeneration = 0 }
	finished := func(p *Pod) { p.Phase = model.Failed }
	for name, tc := range map[string]struct {
		generation int64
		replicas   int32
		pods       []Pod
		want       int32
	}{
		"expected replacement exists":                  {surged, 3, []Pod{pod("a", replaced), pod("b"), pod("c")}, 0},
		"expected replacement exists, one pod missing": {surged, 4, []Pod{pod("a", replaced), pod("b"), pod("c")}, 1},
		"replicas reset":                               {reset, 2, []Pod{pod("a", replaced), pod("b"), pod("c")}, 0},
		"replicas reset, one pod deleted":              {reset, 2, []Pod{pod("a", replaced), pod("c")}, 1},
		"replicas increased":                           {reset, 3, []Pod{pod("a", replaced), pod("b"), pod("c")}, 1},
		"no generation":                                {0, 3, []Pod{pod("a", replaced, withoutGeneration), pod("b"), pod("c")}, 1},
		"expected replacement does not exist":          {surged, 3, []Pod{pod("a", replaced), pod("b"), pod("d")}, 1},
		"expected replacement is terminating":          {surged, 3, []Pod{pod("a", replaced), pod("b"), pod("c", func(p *Pod) { p.Deleting = true })}, 2},
		"expected replacement has terminated":          {surged, 3, []Pod{pod("a", replaced), pod("b"), pod("c", finished)}, 2},
		"replaced pod has terminated":                  {surged, 3, []Pod{pod("a", replaced, finished), pod("b"), pod("c")}, 1},
		"none terminating":                             {surged, 3, []Pod{pod("a", func(p *Pod) { p.ExpectedReplacement, p.ReplacementGeneration = "c", surged }), pod("b"), pod("c")}, 0},
	} {
		rs := ReplicaSet{Replicas: tc.replicas, Generation: tc.generation}
		if plan := rs.Plan(t0, tc.pods, nil, time.Time{}); plan.Create != tc.want || len(plan.Delete) != 0 {
			t.Errorf("%s: creates %d, deletes %v; want %d, none", name, plan.Create, plan.Delete, tc.want)
		}
	}
}
