package displacement

import (
	"testing"
	"time"
)

var start = time.Unix(100000, 0)

// at returns a time in seconds after the start.
func at(s int) time.Time { return start.Add(time.Duration(s) * time.Second) }

func TestAvoidBackoffDoubles(t *testing.T) {
	b := Backoff{First: 10 * time.Second, Max: 10 * time.Minute}
	evicted := func(created, displaced int) Eviction {
		return Eviction{UID: "u", Cause: Pressure, Created: at(created), At: at(displaced)}
	}
	for name, tc := range map[string]struct {
		list  []Eviction
		count int32
		until int
	}{
		"once":                              {[]Eviction{evicted(0, 5)}, 1, 15},
		"several at once":                   {[]Eviction{evicted(0, 5), evicted(1, 5), evicted(2, 6)}, 1, 15},
		"evicted twice":                     {[]Eviction{evicted(0, 5), evicted(16, 17)}, 2, 37},
		"evicted three times, in any order": {[]Eviction{evicted(38, 40), evicted(16, 17), evicted(0, 5)}, 3, 80},
		"much later":                        {[]Eviction{evicted(0, 5), evicted(16, 17), evicted(600, 700)}, 1, 710},
		"at most the maximum":               {repeatedEvictions(b, 12), 12, 0},
	} {
		a, ok := b.Avoid(tc.list)
		if !ok || a.Count != tc.count || tc.until != 0 && !a.Until.Equal(at(tc.until)) {
			t.Errorf("%s: got %+v, want count %d until %v", name, a, tc.count, at(tc.until))
		}
		if a.Until.Sub(a.Since) > b.Max {
			t.Errorf("%s: backoff %v, want at most %v", name, a.Until.Sub(a.Since), b.Max)
		}
	}
	if _, ok := b.Avoid([]Eviction{{UID: "u", Cause: Preemption, At: at(1)}, {UID: "v", Cause: API, At: at(1)}}); ok {
		t.Error("Avoid returned true for a preemption and an eviction request, want false")
	}
}

// repeatedEvictions returns n evictions of pods that are recreated as soon as possible and evicted a second later.
func repeatedEvictions(b Backoff, n int) (out []Eviction) {
	next := start
	for range n {
		out = append(out, Eviction{UID: "u", Cause: Taint, Created: next, At: next.Add(time.Second)})
		a, _ := b.Avoid(out)
		next = a.Until
	}
	return out
}

// TestRepeatedEvictionsAreLimited counts the evictions of pods that return as soon as possible. The
// number grows with the logarithm of time until the maximum backoff, then by one per backoff.
func TestRepeatedEvictionsAreLimited(t *testing.T) {
	b := Backoff{First: 10 * time.Second, Max: 10 * time.Minute}
	n := 1
	for ; repeatedEvictions(b, n+1)[n].At.Before(start.Add(time.Hour)); n++ {
		continue
	}
	if n != 11 {
		t.Errorf("%d evictions in an hour, want 11", n)
	}
}

func TestMatchReplacements(t *testing.T) {
	displaced := []DisplacedPod{{UID: "b", Name: "w-1", Node: "n2", At: at(6)}, {UID: "a", Name: "w-0", Node: "n1", At: at(5)}}
	pods := []OwnerPod{{UID: "z", Name: "w-1", Created: at(9)}, {UID: "y", Name: "w-0", Node: "n2", Created: at(8)}, {UID: "old", Created: at(4)}}
	for kind, want := range map[string]map[string]string{
		"ReplicaSet":  {"a": "y", "b": "z"},
		"StatefulSet": {"a": "y", "b": "z"},
		"DaemonSet":   {"a": "z", "b": "y"},
	} {
		got := MatchReplacements(kind, displaced, pods)
		if len(got) != len(want) || got["a"] != want["a"] || got["b"] != want["b"] {
			t.Errorf("%s: %v, want %v", kind, got, want)
		}
	}
	displaced[1].Replacement = "z"
	if got := MatchReplacements("ReplicaSet", displaced, pods); got["a"] != "z" || got["b"] != "y" {
		t.Errorf("with a known replacement: %v, want a:z b:y", got)
	}
}

func TestCauseFromStatus(t *testing.T) {
	for _, tc := range []struct {
		condition, reason, message string
		want                       Cause
	}{
		{"PreemptionByScheduler", "", "", Preemption},
		{"EvictionByEvictionAPI", "", "", API},
		{"DeletionByTaintManager", "", "", Taint},
		{"DeletionByPodGC", "", "", PodGC},
		{reasonKubelet, "Evicted", "The node was low on resource: memory.", Pressure},
		{"", "Evicted", "Pod was rejected: The node had condition: [DiskPressure]. ", Admission},
		{"", "Evicted", "The node had condition: [DiskPressure].", Admission}, // kubelets before 1.29
		{reasonKubelet, "Terminated", "Pod was terminated in response to imminent node shutdown.", Shutdown},
		{reasonKubelet, "Preempting", "Preempted in order to admit critical pod", Admission},
		{"", "OutOfcpu", "Pod was rejected: Node didn't have enough resource: cpu", Admission},
		{"", "NodeShutdown", "Pod was rejected as the node is shutting down.", Shutdown},
		{"", "Error", "", None},
		{"", "", "", None},
		{"SomethingElse", "", "", None},
	} {
		if got := CauseFromStatus(tc.condition, tc.reason, tc.message); got != tc.want {
			t.Errorf("CauseFromStatus(%q, %q) = %v, want %v", tc.condition, tc.reason, got, tc.want)
		}
	}
	if c := Admission.AvoidCause("Pod was rejected: The node had condition: [DiskPressure]. "); c != Pressure {
		t.Errorf("AvoidCause = %v, want %v", c, Pressure)
	}
	for _, c := range Causes() {
		if got := c.AvoidCause("Pod was rejected: Node didn't have enough resource: cpu"); got != c {
			t.Errorf("AvoidCause of %v = %v, want no change", c, got)
		}
		if parsed, ok := ParseCause(c.String()); !ok || parsed != c || c.Reason() == "" {
			t.Errorf("ParseCause(%q) = %v, %v; want %v, true; reason %q", c, parsed, ok, c, c.Reason())
		}
	}
}
