package descheduling

import (
	"testing"
	"time"

	"github.com/berthproject/berth/engine/model"
)

func priority(v int32) func(*Pod) {
	return func(p *Pod) { p.Details.HasPriority, p.Spec = true, &model.PodSpec{Priority: v} }
}

// protections are the ways in which a pod is protected, the arguments that lift each protection,
// and arguments that do not suffice.
var protections = []struct {
	what string
	pod  func(*Pod)
	args func(*DefaultEvictorArgs) // enables the protection; nil: enabled by default
	lift func(*DefaultEvictorArgs) // disables the protection; nil: impossible
}{
	{what: "mirror", pod: func(p *Pod) { p.Mirror = true }},
	{what: "static", pod: func(p *Pod) { p.Details.Static = true }},
	{what: "deleting", pod: func(p *Pod) { p.Deleting = true }},
	{what: "bare", pod: func(p *Pod) { p.Details.Owners = nil }},
	{what: "failed bare", pod: func(p *Pod) { p.Details.Owners, p.Phase = nil, model.Failed },
		lift: func(a *DefaultEvictorArgs) { a.ProtectFailedBare = false }},
	{what: "daemon", pod: func(p *Pod) { p.Details.Owners = []model.Owner{{Kind: "DaemonSet"}} },
		lift: func(a *DefaultEvictorArgs) { a.ProtectDaemonSets = false }},
	{what: "local storage", pod: func(p *Pod) { p.Details.LocalStorage = true },
		lift: func(a *DefaultEvictorArgs) { a.ProtectLocalStorage = false }},
	{what: "critical", pod: priority(systemCritical), lift: func(a *DefaultEvictorArgs) { a.ProtectSystemCritical = false }},
	{what: "threshold", pod: priority(7), args: func(a *DefaultEvictorArgs) { v := int32(7); a.Priority.Value = &v },
		lift: func(a *DefaultEvictorArgs) { a.ProtectSystemCritical = false }},
	{what: "threshold by class", pod: priority(7), args: func(a *DefaultEvictorArgs) { a.Priority.Name = "seven" },
		lift: func(a *DefaultEvictorArgs) { a.Priority.Name = "" }},
	{what: "mandatory", pod: func(p *Pod) { p.Details.PreferNoEviction = true }, args: func(a *DefaultEvictorArgs) { a.NoEvictionMandatory = true },
		lift: func(a *DefaultEvictorArgs) { a.NoEvictionMandatory = false }},
	{what: "devices", pod: func(p *Pod) { p.Details.ResourceClaims = true }, args: func(a *DefaultEvictorArgs) { a.ProtectResourceClaims = true },
		lift: func(a *DefaultEvictorArgs) { a.ProtectResourceClaims = false }},
	{what: "claim", pod: func(p *Pod) { p.Details.Claims = []string{"tin"} }, args: func(a *DefaultEvictorArgs) { a.ProtectPVC = true },
		lift: func(a *DefaultEvictorArgs) { a.ProtectedClasses = []string{"gold"} }},
	{what: "claim of a class", pod: func(p *Pod) { p.Details.Claims = []string{"tin", "golden"} },
		args: func(a *DefaultEvictorArgs) { a.ProtectPVC, a.ProtectedClasses = true, []string{"gold"} },
		lift: func(a *DefaultEvictorArgs) { a.ProtectedClasses = []string{"silver"} }},
	{what: "missing claim", pod: func(p *Pod) { p.Details.Claims = []string{"lost"} },
		args: func(a *DefaultEvictorArgs) { a.ProtectPVC, a.ProtectedClasses = true, []string{"gold"} },
		lift: func(a *DefaultEvictorArgs) { a.ProtectPVC = false }},
	{what: "label", pod: func(*Pod) {}, args: func(a *DefaultEvictorArgs) { a.LabelSelector = labelSelector("app", "web") },
		lift: func(a *DefaultEvictorArgs) { a.LabelSelector = &model.Selector{} }},
	{what: "young", pod: func(*Pod) {}, args: func(a *DefaultEvictorArgs) { a.MinPodAge = 61 * time.Minute },
		lift: func(a *DefaultEvictorArgs) { a.MinPodAge = time.Hour }},
	{what: "not started", pod: func(p *Pod) { p.Started = time.Time{} }, args: func(a *DefaultEvictorArgs) { a.MinPodAge = 1 },
		lift: func(a *DefaultEvictorArgs) { a.MinPodAge = 0 }},
	{what: "few", pod: func(*Pod) {}, args: func(a *DefaultEvictorArgs) { a.MinReplicas = 4 }, lift: func(a *DefaultEvictorArgs) { a.MinReplicas = 3 }},
	{what: "no budget", pod: func(p *Pod) { p.Labels = model.LabelsOf(map[string]string{"app": "db"}) },
		args: func(a *DefaultEvictorArgs) { a.ProtectWithoutPDB = true }, lift: func(a *DefaultEvictorArgs) { a.ProtectWithoutPDB = false }},
}

func labelSelector(key, value string) *model.Selector {
	return &model.Selector{Requirements: []model.Requirement{{Key: key, Op: model.In, Values: []string{value}}}}
}

// passesFilter returns an evictor's result for a pod that has a sibling on another node and a
// pending sibling.
func passesFilter(t *testing.T, args DefaultEvictorArgs, change ...func(*Pod)) bool {
	t.Helper()
	p := testPod("p", "n1", change...)
	s := testSnapshot(numbered(2), p, testPod("q", "n2"), testPod("r", ""))
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
		t.Error("a pod without restrictions is protected")
	}
	for _, c := range protections {
		args := defaultArgs()
		if c.args != nil {
			args.ProtectSystemCritical = true
			c.args(&args)
		}
		if passesFilter(t, args, c.pod) {
			t.Errorf("%s: not protected", c.what)
		}
		if !passesFilter(t, args, c.pod, func(p *Pod) { p.Details.EvictAnyway = true }) {
			t.Errorf("%s: protected despite the evict annotation", c.what)
		}
		if c.lift != nil {
			if c.lift(&args); !passesFilter(t, args, c.pod) {
				t.Errorf("%s: still protected", c.what)
			}
		}
	}
}

// The number of replicas is unknown for a pod with several owners.
func TestMinReplicasWithSeveralOwners(t *testing.T) {
	args := defaultArgs()
	args.MinReplicas = 10
	if !passesFilter(t, args, func(p *Pod) { p.Details.Owners = append(p.Details.Owners, model.Owner{Kind: "Other"}) }) {
		t.Error("protected")
	}
}

// A threshold above the priority of critical pods would not protect critical pods.
func TestPriorityThresholdTooHigh(t *testing.T) {
	args, v := defaultArgs(), systemCritical+1
	args.Priority.Value = &v
	want := "priorityThreshold: 2000000001 is above 2000000000, the priority of system-critical pods"
	if _, reason := newDefaultEvictor(NewRound(testSnapshot(nil), &Policy{}, &fakeMover{}), &args); reason != want {
		t.Errorf("got %q, want %q", reason, want)
	}
}

// Pods are sorted by priority (no priority first), then by QoS class, then by the annotation that
// prefers no eviction.
func TestSortForEviction(t *testing.T) {
	guaranteed := func(p *Pod) { p.Details.Guaranteed = true }
	cheap := func(p *Pod) { s := *p.Spec; s.BestEffort = true; p.Spec = &s }
	preferNoEviction := func(p *Pod) { p.Details.PreferNoEviction = true }
	want := []*Pod{testPod("none", "", cheap), testPod("none stays", "", cheap, preferNoEviction), testPod("none burstable", ""), testPod("none guaranteed", "", guaranteed),
		testPod("negative", "", priority(-5)), testPod("low", "", priority(1), cheap), testPod("low stays", "", priority(1), cheap, preferNoEviction), testPod("low burstable", "", priority(1)),

		testPod("high", "", priority(2), cheap)}
	for i := range want {
		for j := range want {
			if got := CompareForEviction(want[i], want[j]); (got < 0) != (i < j) || (got > 0) != (i > j) {
				t.Errorf("%s against %s: %d", want[i].Name, want[j].Name, got)
			}
		}
	}
}
