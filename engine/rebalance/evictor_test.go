package rebalance

import (
	"testing"
	"time"

	"github.com/berthproject/berth/engine/model"
)

func priority(v int32) func(*Pod) {
	return func(p *Pod) { p.Facts.HasPriority, p.Spec = true, &model.PodSpec{Priority: v} }
}

// protections are pods that something protects, what lifts it, and what alone does not.
var protections = []struct {
	what string
	pod  func(*Pod)
	args func(*EvictorArgs) // makes it protected; nil: it is
	lift func(*EvictorArgs) // nil: nothing does
}{
	{what: "mirror", pod: func(p *Pod) { p.Mirror = true }},
	{what: "static", pod: func(p *Pod) { p.Facts.Static = true }},
	{what: "deleting", pod: func(p *Pod) { p.Deleting = true }},
	{what: "bare", pod: func(p *Pod) { p.Facts.Owners = nil }},
	{what: "failed bare", pod: func(p *Pod) { p.Facts.Owners, p.Phase = nil, model.Failed },
		lift: func(a *EvictorArgs) { a.ProtectFailedBare = false }},
	{what: "daemon", pod: func(p *Pod) { p.Facts.Owners = []model.Owner{{Kind: "DaemonSet"}} },
		lift: func(a *EvictorArgs) { a.ProtectDaemonSets = false }},
	{what: "local storage", pod: func(p *Pod) { p.Facts.LocalStorage = true },
		lift: func(a *EvictorArgs) { a.ProtectLocalStorage = false }},
	{what: "critical", pod: priority(systemCritical), lift: func(a *EvictorArgs) { a.ProtectSystemCritical = false }},
	{what: "threshold", pod: priority(7), args: func(a *EvictorArgs) { v := int32(7); a.Priority.Value = &v },
		lift: func(a *EvictorArgs) { a.ProtectSystemCritical = false }},
	{what: "threshold by class", pod: priority(7), args: func(a *EvictorArgs) { a.Priority.Name = "seven" },
		lift: func(a *EvictorArgs) { a.Priority.Name = "" }},
	{what: "mandatory", pod: func(p *Pod) { p.Facts.PreferNoEviction = true }, args: func(a *EvictorArgs) { a.Mandatory = true },
		lift: func(a *EvictorArgs) { a.Mandatory = false }},
	{what: "devices", pod: func(p *Pod) { p.Facts.ResourceClaims = true }, args: func(a *EvictorArgs) { a.ProtectResourceClaims = true },
		lift: func(a *EvictorArgs) { a.ProtectResourceClaims = false }},
	{what: "claim", pod: func(p *Pod) { p.Facts.Claims = []string{"tin"} }, args: func(a *EvictorArgs) { a.ProtectPVC = true },
		lift: func(a *EvictorArgs) { a.ProtectedClasses = []string{"gold"} }},
	{what: "claim of a class", pod: func(p *Pod) { p.Facts.Claims = []string{"tin", "golden"} },
		args: func(a *EvictorArgs) { a.ProtectPVC, a.ProtectedClasses = true, []string{"gold"} },
		lift: func(a *EvictorArgs) { a.ProtectedClasses = []string{"silver"} }},
	{what: "claim that is not there", pod: func(p *Pod) { p.Facts.Claims = []string{"lost"} },
		args: func(a *EvictorArgs) { a.ProtectPVC, a.ProtectedClasses = true, []string{"gold"} },
		lift: func(a *EvictorArgs) { a.ProtectPVC = false }},
	{what: "label", pod: func(*Pod) {}, args: func(a *EvictorArgs) { a.LabelSelector = having("app", "web") },
		lift: func(a *EvictorArgs) { a.LabelSelector = &model.Selector{} }},
	{what: "young", pod: func(*Pod) {}, args: func(a *EvictorArgs) { a.MinPodAge = 61 * time.Minute },
		lift: func(a *EvictorArgs) { a.MinPodAge = time.Hour }},
	{what: "not started", pod: func(p *Pod) { p.Started = time.Time{} }, args: func(a *EvictorArgs) { a.MinPodAge = 1 },
		lift: func(a *EvictorArgs) { a.MinPodAge = 0 }},
	{what: "few", pod: func(*Pod) {}, args: func(a *EvictorArgs) { a.MinReplicas = 4 }, lift: func(a *EvictorArgs) { a.MinReplicas = 3 }},
	{what: "no budget", pod: func(p *Pod) { p.Labels = model.LabelsOf(map[string]string{"app": "db"}) },
		args: func(a *EvictorArgs) { a.ProtectWithoutPDB = true }, lift: func(a *EvictorArgs) { a.ProtectWithoutPDB = false }},
}

func having(key, value string) *model.Selector {
	return &model.Selector{Requirements: []model.Requirement{{Key: key, Op: model.In, Values: []string{value}}}}
}

// lets says what an evictor makes of a pod that has a sibling on another node and one that waits for a node.
func lets(t *testing.T, args EvictorArgs, change ...func(*Pod)) bool {
	t.Helper()
	p := testPod("p", "n1", change...)
	s := testSnapshot(numbered(2), p, testPod("q", "n2"), testPod("r", ""))
	s.Priorities["seven"] = 7
	s.Classes["default/tin"], s.Classes["default/golden"] = "tin", "gold"
	s.Budgets = []*model.Budget{{Namespace: "default", Name: "web", Selector: having("app", "web")}}
	r := New(s, &Policy{}, &evicter{})
	e, why := newEvictor(r, &args)
	if why != "" {
		t.Fatal(why)
	}
	r.evictor = e
	return r.Evictable(p)
}

func TestProtections(t *testing.T) {
	if !lets(t, usual()) {
		t.Error("a plain pod is protected")
	}
	for _, c := range protections {
		args := usual()
		if c.args != nil {
			args.ProtectSystemCritical = true
			c.args(&args)
		}
		if lets(t, args, c.pod) {
			t.Errorf("%s: is not protected", c.what)
		}
		if !lets(t, args, c.pod, func(p *Pod) { p.Facts.EvictAnyway = true }) {
			t.Errorf("%s: is protected in spite of the annotation evict", c.what)
		}
		if c.lift != nil {
			if c.lift(&args); !lets(t, args, c.pod) {
				t.Errorf("%s: is protected even though that was lifted", c.what)
			}
		}
	}
}

// Of a pod with several owners it cannot be told how many replicas it has.
func TestFewOfSeveralOwners(t *testing.T) {
	args := usual()
	args.MinReplicas = 10
	if !lets(t, args, func(p *Pod) { p.Facts.Owners = append(p.Facts.Owners, model.Owner{Kind: "Other"}) }) {
		t.Error("is protected")
	}
}

// A threshold above the priority of critical pods would not protect those.
func TestThresholdTooHigh(t *testing.T) {
	args, v := usual(), systemCritical+1
	args.Priority.Value = &v
	want := "priorityThreshold: 2000000001 is above 2000000000, from which on pods are critical to the system"
	if _, why := newEvictor(New(testSnapshot(nil), &Policy{}, &evicter{}), &args); why != want {
		t.Errorf("got %q, want %q", why, want)
	}
}

// Who goes first: it is the priority, none before any, then the class of service, then whether the pod prefers to stay.
func TestVictims(t *testing.T) {
	guaranteed := func(p *Pod) { p.Facts.Guaranteed = true }
	cheap := func(p *Pod) { s := *p.Spec; s.BestEffort = true; p.Spec = &s }
	stays := func(p *Pod) { p.Facts.PreferNoEviction = true }
	want := []*Pod{testPod("none", "", cheap), testPod("none stays", "", cheap, stays), testPod("none burstable", ""), testPod("none guaranteed", "", guaranteed),
		testPod("negative", "", priority(-5)), testPod("low", "", priority(1), cheap), testPod("low stays", "", priority(1), cheap, stays), testPod("low burstable", "", priority(1)),

		testPod("high", "", priority(2), cheap)}
	for i := range want {
		for j := range want {
			if got := CompareVictims(want[i], want[j]); (got < 0) != (i < j) || (got > 0) != (i > j) {
				t.Errorf("%s against %s: %d", want[i].Name, want[j].Name, got)
			}
		}
	}
}
