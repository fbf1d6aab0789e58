package descheduling

import (
	"testing"
	"time"

	"github.com/berthproject/berth/engine/model"
)

func priority(v int32) func(*Pod) {
	return func(p *Pod) { p.Details.HasPriority, p.Spec = true, &model.PodSpec{Priority: v} }
}

// protections are the protections of the evictor, each with a pod that it protects and the arguments
// that enable and disable it.
var protections = []struct {
	name    string
	pod     func(*Pod)
	enable  func(*DefaultEvictorArgs) // nil: enabled by default
	disable func(*DefaultEvictorArgs) // nil: cannot be disabled
}{
	{name: "mirror", pod: func(p *Pod) { p.Mirror = true }},
	{name: "static", pod: func(p *Pod) { p.Details.Static = true }},
	{name: "deleting", pod: func(p *Pod) { p.Deleting = true }},
	{name: "bare", pod: func(p *Pod) { p.Details.Owners = nil }},
	{name: "failed bare", pod: func(p *Pod) { p.Details.Owners, p.Phase = nil, model.Failed },
		disable: func(a *DefaultEvictorArgs) { a.ProtectFailedBare = false }},
	{name: "DaemonSet pod", pod: func(p *Pod) { p.Details.Owners = []model.Owner{{Kind: "DaemonSet"}} },
		disable: func(a *DefaultEvictorArgs) { a.ProtectDaemonSets = false }},
	{name: "local storage", pod: func(p *Pod) { p.Details.LocalStorage = true },
		disable: func(a *DefaultEvictorArgs) { a.ProtectLocalStorage = false }},
	{name: "critical", pod: priority(model.SystemCriticalPriority), disable: func(a *DefaultEvictorArgs) { a.ProtectSystemCritical = false }},
	{name: "threshold", pod: priority(7), enable: func(a *DefaultEvictorArgs) { v := int32(7); a.Priority.Value = &v },
		disable: func(a *DefaultEvictorArgs) { a.ProtectSystemCritical = false }},
	{name: "threshold by class", pod: priority(7), enable: func(a *DefaultEvictorArgs) { a.Priority.Name = "seven" },
		disable: func(a *DefaultEvictorArgs) { a.Priority.Name = "" }},
	{name: "mandatory", pod: func(p *Pod) { p.Details.PreferNoEviction = true }, enable: func(a *DefaultEvictorArgs) { a.NoEvictionMandatory = true },
		disable: func(a *DefaultEvictorArgs) { a.NoEvictionMandatory = false }},
	{name: "resource claim", pod: func(p *Pod) { p.Details.ResourceClaims = true }, enable: func(a *DefaultEvictorArgs) { a.ProtectResourceClaims = true },
		disable: func(a *DefaultEvictorArgs) { a.ProtectResourceClaims = false }},
	{name: "claim", pod: func(p *Pod) { p.Details.Claims = []string{"tin"} }, enable: func(a *DefaultEvictorArgs) { a.ProtectPVC = true },
		disable: func(a *DefaultEvictorArgs) { a.ProtectedClasses = []string{"gold"} }},
	{name: "claim of a class", pod: func(p *Pod) { p.Details.Claims = []string{"tin", "golden"} },
		enable:  func(a *DefaultEvictorArgs) { a.ProtectPVC, a.ProtectedClasses = true, []string{"gold"} },
		disable: func(a *DefaultEvictorArgs) { a.ProtectedClasses = []string{"silver"} }},
	{name: "missing claim", pod: func(p *Pod) { p.Details.Claims = []string{"missing"} },
		enable:  func(a *DefaultEvictorArgs) { a.ProtectPVC, a.ProtectedClasses = true, []string{"gold"} },
		disable: func(a *DefaultEvictorArgs) { a.ProtectPVC = false }},
	{name: "label", pod: func(*Pod) {}, enable: func(a *DefaultEvictorArgs) { a.LabelSelector = labelSelector("app", "web") },
		disable: func(a *DefaultEvictorArgs) { a.LabelSelector = &model.Selector{} }},
	{name: "too young", pod: func(*Pod) {}, enable: func(a *DefaultEvictorArgs) { a.MinPodAge = 61 * time.Minute },
		disable: func(a *DefaultEvictorArgs) { a.MinPodAge = time.Hour }},
	{name: "not started", pod: func(p *Pod) { p.Started = time.Time{} }, enable: func(a *DefaultEvictorArgs) { a.MinPodAge = 1 },
		disable: func(a *DefaultEvictorArgs) { a.MinPodAge = 0 }},
	{name: "too few replicas", pod: func(*Pod) {}, enable: func(a *DefaultEvictorArgs) { a.MinReplicas = 4 }, disable: func(a *DefaultEvictorArgs) { a.MinReplicas = 3 }},
	{name: "no budget", pod: func(p *Pod) { p.Labels = model.LabelsOf(map[string]string{"app": "db"}) },
		enable: func(a *DefaultEvictorArgs) { a.ProtectWithoutPDB = true }, disable: func(a *DefaultEvictorArgs) { a.ProtectWithoutPDB = false }},
}

func labelSelector(key, value string) *model.Selector {
	return &model.Selector{Requirements: []model.Requirement{{Key: key, Op: model.In, Values: []string{value}}}}
}

// passesFilter returns an evictor's result for a pod that has a sibling on another node and a
// pending sibling.
func passesFilter(t *testing.T, args DefaultEvictorArgs, change ...func(*Pod)) bool {
	t.Helper()
	p := testPod("p", "n1", change...)
	s := testSnapshot(numberedNodes(2), p, testPod("q", "n2"), testPod("r", ""))
	s.Priorities["seven"] = 7
	s.ClaimStorageClasses["default/tin"], s.ClaimStorageClasses["default/golden"] = "tin", "gold"
	s.Budgets = []*model.Budget{{Namespace: "default", Name: "web", Selector: labelSelector("app", "web")}}
	r := NewRound(s, &Policy{}, &fakeMover{})
	e, reason := newDefaultEvictor(r, &args)
	if reason != "" {
		t.Fatal(reason)
	}
	r.evictor = e
	return r.Evictable(p)
}

func TestProtections(t *testing.T) {
	if !passesFilter(t, defaultArgs()) {
		t.Error("a pod without restrictions is protected, want it to be evictable")
	}
	for _, c := range protections {
		args := defaultArgs()
		if c.enable != nil {
			args.ProtectSystemCritical = true
			c.enable(&args)
		}
		if passesFilter(t, args, c.pod) {
			t.Errorf("%s: the pod is evictable, want it to be protected", c.name)
		}
		if !passesFilter(t, args, c.pod, func(p *Pod) { p.Details.EvictAnyway = true }) {
			t.Errorf("%s: the pod is protected, want the evict annotation to make it evictable", c.name)
		}
		if c.disable != nil {
			if c.disable(&args); !passesFilter(t, args, c.pod) {
				t.Errorf("%s: the pod is protected with the protection disabled, want it to be evictable", c.name)
			}
		}
	}
}

// TestMinReplicasWithSeveralOwners checks that MinReplicas does not protect a pod with several
// owners, as the number of its replicas is unknown.
func TestMinReplicasWithSeveralOwners(t *testing.T) {
	args := defaultArgs()
	args.MinReplicas = 10
	if !passesFilter(t, args, func(p *Pod) { p.Details.Owners = append(p.Details.Owners, model.Owner{Kind: "Other"}) }) {
		t.Error("a pod with two owners is protected by MinReplicas")
	}
}

// TestPriorityThresholdTooHigh checks that a threshold above the priority of critical pods is an
// error, because it would not protect them.
func TestPriorityThresholdTooHigh(t *testing.T) {
	args, v := defaultArgs(), model.SystemCriticalPriority+1
	args.Priority.Value = &v
	want := "priorityThreshold: 2000000001 is above 2000000000, the priority of system-critical pods"
	if _, reason := newDefaultEvictor(NewRound(testSnapshot(nil), &Policy{}, &fakeMover{}), &args); reason != want {
		t.Errorf("got %q, want %q", reason, want)
	}
}

// TestSortForEviction checks that pods are sorted by priority (no priority first), then by QoS
// class, then by the annotation prefer-no-eviction.
func TestSortForEviction(t *testing.T) {
	guaranteed := func(p *Pod) { p.Details.Guaranteed = true }
	bestEffort := func(p *Pod) { s := *p.Spec; s.BestEffort = true; p.Spec = &s }
	preferNoEviction := func(p *Pod) { p.Details.PreferNoEviction = true }
	want := []*Pod{testPod("none", "", bestEffort), testPod("none stays", "", bestEffort, preferNoEviction), testPod("none burstable", ""), testPod("none guaranteed", "", guaranteed),
		testPod("negative", "", priority(-5)), testPod("low", "", priority(1), bestEffort), testPod("low stays", "", priority(1), bestEffort, preferNoEviction), testPod("low burstable", "", priority(1)),
		testPod("high", "", priority(2), bestEffort)}
	for i := range want {
		for j := range want {
			if got := CompareForEviction(want[i], want[j]); (got < 0) != (i < j) || (got > 0) != (i > j) {
				t.Errorf("CompareForEviction(%s, %s) = %d, want the sign of %d", want[i].Name, want[j].Name, got, i-j)
			}
		}
	}
}
