package budget_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/berthproject/berth/engine/budget"
	"github.com/berthproject/berth/engine/model"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// newPods returns n ready pods of a controller, named p0, p1, ...
func newPods(n int, owner model.Owner) (out []*model.Pod) {
	for i := range n {
		p := pod(fmt.Sprintf("p%d", i), web)
		p.Owner, p.Created = owner, noon.Add(-time.Hour)
		out = append(out, p)
	}
	return out
}

func amount(v int32) model.IntOrPercent { return model.IntOrPercent{Set: true, Value: v} }
func percent(v int32) model.IntOrPercent {
	return model.IntOrPercent{Set: true, Percent: true, Value: v}
}

// rs is a ReplicaSet of a Deployment with ten replicas.
var rs = model.Owner{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web-1", UID: "rs1"}

func scale(o model.Owner) budget.Scale {
	switch o.UID {
	case "rs1", "rs2":
		return budget.Scale{UID: "d", Replicas: 10}
	case "other":
		return budget.Scale{UID: "other", Replicas: 4}
	}
	return budget.Scale{Fault: "jobs.batch does not implement the scale subresource"}
}

func formatStatus(c budget.StatusResult) string {
	s := fmt.Sprintf("%d/%d/%d/%d %s", c.DisruptionsAllowed, c.CurrentHealthy, c.DesiredHealthy, c.ExpectedPods, c.Reason)
	for _, e := range c.Events {
		s += " " + e.Reason
		if e.Pod != nil {
			s += "(" + e.Pod.Name + ")"
		}
	}
	return s
}

func TestComputeStatus(t *testing.T) {
	job := model.Owner{APIVersion: "batch/v1", Kind: "Job", Name: "j", UID: "j"}
	rs2, other := rs, rs
	rs2.UID, other.UID = "rs2", "other"
	noOwner := model.Owner{}
	for name, c := range map[string]struct {
		min, max model.IntOrPercent
		pods     []*model.Pod
		want     string // allowed/healthy/desired/expected reason events
	}{
		"minAvailable 3 of 7":                           {amount(3), model.IntOrPercent{}, newPods(7, noOwner), "4/7/3/7 SufficientPods"},
		"minAvailable above the number of pods":         {amount(9), model.IntOrPercent{}, newPods(7, noOwner), "0/7/9/7 InsufficientPods"},
		"minAvailable 0":                                {amount(0), model.IntOrPercent{}, newPods(2, noOwner), "2/2/0/2 SufficientPods"},
		"no pod":                                        {amount(0), model.IntOrPercent{}, nil, "0/0/0/0 InsufficientPods NoPods"},
		"a percentage is rounded up":                    {percent(45), model.IntOrPercent{}, newPods(7, rs), "2/7/5/10 SufficientPods"},
		"two ReplicaSets of a Deployment":               {percent(50), model.IntOrPercent{}, append(newPods(3, rs), newPods(3, rs2)...), "1/6/5/10 SufficientPods"},
		"two controllers":                               {percent(50), model.IntOrPercent{}, append(newPods(8, rs), newPods(1, other)...), "2/9/7/14 SufficientPods"},
		"maxUnavailable 1":                              {model.IntOrPercent{}, amount(1), newPods(10, rs), "1/10/9/10 SufficientPods"},
		"maxUnavailable as a percentage, rounded up":    {model.IntOrPercent{}, percent(25), newPods(9, rs), "2/9/7/10 SufficientPods"},
		"maxUnavailable above the number of pods":       {model.IntOrPercent{}, amount(20), newPods(2, rs), "2/2/0/10 SufficientPods"},
		"maxUnavailable 0":                              {model.IntOrPercent{}, amount(0), newPods(10, rs), "0/10/10/10 InsufficientPods"},
		"maxUnavailable 0, one pod more than desired":   {model.IntOrPercent{}, amount(0), newPods(11, rs), "1/11/10/10 SufficientPods"},
		"pods without a controller":                     {model.IntOrPercent{}, amount(1), newPods(3, noOwner), "0/3/0/0 InsufficientPods UnmanagedPods"},
		"a controller without a scale":                  {model.IntOrPercent{}, amount(1), append(newPods(3, rs), newPods(1, job)...), "0/0/0/0 SyncFailed CalculateExpectedPodCountFailed"},
		"a numeric minAvailable needs no scale":         {amount(1), model.IntOrPercent{}, newPods(3, job), "2/3/1/3 SufficientPods"},
		"neither minAvailable nor maxUnavailable":       {model.IntOrPercent{}, model.IntOrPercent{}, newPods(3, rs), "0/3/0/0 InsufficientPods"},
		"pods that are pending, terminating or unready": {amount(1), model.IntOrPercent{}, withUnhealthy(newPods(5, noOwner)), "1/2/1/5 SufficientPods"},
	} {
		b := &model.Budget{Namespace: "default", Name: "b", Selector: selectWeb, MinAvailable: c.min, MaxUnavailable: c.max, Generation: 2}
		got := budget.StatusInputs{Budget: b, Pods: append(c.pods, pod("uncovered", nil)), Scale: scale, Now: noon}.ComputeStatus()
		if formatStatus(got) != c.want {
			t.Errorf("%s: got %s, want %s", name, formatStatus(got), c.want)
		}
		if !got.Failed() && got.ObservedGeneration != 2 {
			t.Errorf("%s: observed generation %d, want 2", name, got.ObservedGeneration)
		}
	}
}

// withUnhealthy makes the last three of five pods unhealthy.
func withUnhealthy(pods []*model.Pod) []*model.Pod {
	pods[2].Ready, pods[3].Deleting, pods[4].Phase = false, true, model.Failed
	return pods
}

func TestFailedSyncKeepsStatus(t *testing.T) {
	b := &model.Budget{Namespace: "default", Name: "b", Selector: selectWeb, MaxUnavailable: amount(1), Generation: 3, ObservedGeneration: 2,
		DisruptionsAllowed: 2, CurrentHealthy: 5, DesiredHealthy: 3, ExpectedPods: 5, Disrupted: []string{"x"}, DisruptedAt: []time.Time{noon}}
	got := budget.StatusInputs{Budget: b, Pods: newPods(1, rs), Now: noon}.ComputeStatus()
	if formatStatus(got) != "0/5/3/5 SyncFailed CalculateExpectedPodCountFailed" || got.ObservedGeneration != 2 || len(got.Disrupted) != 1 {
		t.Errorf("got %+v, want the old status with SyncFailed", got)
	}
	if want := `ReplicaSet web-1: found no controllers for pod "p0"`; !strings.Contains(got.Message, want) {
		t.Errorf("message %q, want one with %q", got.Message, want)
	}
	b.SpecError = "spec.maxUnavailable: invalid value"
	if got := (budget.StatusInputs{Budget: b, Now: noon}).ComputeStatus(); got.Message != b.SpecError {
		t.Errorf("message %q, want %q", got.Message, b.SpecError)
	}
}

func TestComputeStatusKeepsEntries(t *testing.T) {
	pods := newPods(5, model.Owner{})
	pods[1].Deleting, pods[1].Ready = true, true
	pods[3].Created = noon.Add(-30 * time.Second)
	beforeNoon := func(d time.Duration) time.Time { return noon.Add(-d) }
	b := &model.Budget{Namespace: "default", Name: "b", Selector: selectWeb, MinAvailable: amount(1),
		Disrupted:   []string{"deleted", "p0", "p1", "p2", "p3", "p4", "unseen"},
		DisruptedAt: []time.Time{beforeNoon(2 * time.Minute), beforeNoon(time.Minute), noon, beforeNoon(2 * time.Minute), beforeNoon(time.Minute), beforeNoon(20 * time.Second), noon}}
	got := budget.StatusInputs{Budget: b, Pods: pods, Now: noon}.ComputeStatus()
	// p0 and p4 are not deleted yet, p2 was not deleted in time, p3 is a new pod of that name. The unknown pod may
	// be missing from a lagging watch.
	if formatStatus(got) != "1/2/1/5 SufficientPods NotDeleted(p2)" || fmt.Sprint(got.Disrupted) != "[p0 p4 unseen]" || got.RequeueAfter != time.Minute {
		t.Errorf("status %s, entries %v, requeue after %s; want entries [p0 p4 unseen], 1m0s", formatStatus(got), got.Disrupted, got.RequeueAfter)
	}
	if note, want := got.Events[0].Note, "Pod was expected by PDB default/b to be deleted but it wasn't"; note != want {
		t.Errorf("note %q, want %q", note, want)
	}
}

func TestStaleConditionAfter(t *testing.T) {
	for name, c := range map[string]struct {
		change    func(*model.Pod)
		remaining time.Duration
		ends      bool
	}{
		"by preemption":          {func(p *model.Pod) { p.DisruptionReason = "PreemptionByScheduler" }, 90 * time.Second, true},
		"none":                   {func(*model.Pod) {}, 0, false},
		"terminated by the node": {func(p *model.Pod) { p.DisruptionReason = "TerminationByKubelet" }, 0, false},
		"deletion in progress":   {func(p *model.Pod) { p.DisruptionReason, p.Deleting = "EvictionByEvictionAPI", true }, 0, false},
		"the pod has terminated": {func(p *model.Pod) { p.DisruptionReason, p.Phase = "EvictionByEvictionAPI", model.Failed }, 0, false},
	} {
		p := pod("p", web)
		c.change(p)
		if remaining, ends := budget.StaleConditionAfter(p, noon, noon.Add(30*time.Second)); remaining != c.remaining || ends != c.ends {
			t.Errorf("%s: got %s, %v, want %s, %v", name, remaining, ends, c.remaining, c.ends)
		}
	}
	p := pod("p", web)
	p.DisruptionReason = "DeletionByTaintManager"
	if remaining, ends := budget.StaleConditionAfter(p, noon, noon.Add(time.Hour)); remaining != 0 || !ends {
		t.Errorf("expired entry: got %s, %v, want 0s, true", remaining, ends)
	}
}
