package workload

import (
	"testing"
	"time"

	"github.com/berthproject/berth/engine/model"
)

var t0 = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

func at(d time.Duration) time.Time { return t0.Add(d) }

// failure returns the failure of a pod that ran between two times, in seconds.
func failure(node, cause string, started, ended int) PodFailure {
	return PodFailure{Node: node, Cause: cause, StartedAt: at(time.Duration(started) * time.Second), FailedAt: at(time.Duration(ended) * time.Second)}
}

func TestBackoffUntil(t *testing.T) {
	for name, tc := range map[string]struct {
		failures []PodFailure
		node     string
		until    int // in seconds; 0: now
	}{
		"no failures":                           {node: "n1"},
		"first failure on a named node":         {[]PodFailure{failure("n1", "Evicted", 0, 1)}, "n1", 11},
		"first failure without a node name":     {[]PodFailure{failure("n1", "Evicted", 0, 1)}, "", 0},
		"second failure without a node name":    {[]PodFailure{failure("n1", "Evicted", 0, 1), failure("n1", "Evicted", 2, 3)}, "", 13},
		"two causes back off separately":        {[]PodFailure{failure("n1", "Evicted", 0, 1), failure("n1", "OutOfcpu", 2, 3)}, "", 0},
		"two nodes back off separately":         {[]PodFailure{failure("n1", "Evicted", 0, 1), failure("n2", "Evicted", 2, 3)}, "", 0},
		"doubled by each attempt":               {[]PodFailure{failure("n1", "Evicted", 0, 1), failure("n1", "Evicted", 11, 12), failure("n1", "Evicted", 32, 33)}, "n1", 73},
		"pods of one attempt":                   {[]PodFailure{failure("n1", "Evicted", 0, 1), failure("n1", "Evicted", 0, 2), failure("n1", "Evicted", 0, 3)}, "n1", 11},
		"a long-running pod resets the backoff": {[]PodFailure{failure("n1", "Evicted", 0, 1), failure("n1", "Evicted", 11, 700)}, "n1", 0},
		"first failure after a reset":           {[]PodFailure{failure("n1", "Evicted", 0, 1), failure("n1", "Evicted", 11, 700), failure("n1", "Evicted", 701, 702)}, "n1", 712},
		"failures on another node do not count": {[]PodFailure{failure("n2", "Evicted", 0, 1)}, "n1", 0},
		"the order of failures does not matter": {[]PodFailure{failure("n1", "Evicted", 11, 12), failure("n1", "Evicted", 0, 1)}, "n1", 32},
	} {
		t.Run(name, func(t *testing.T) {
			until, _ := BackoffUntil(tc.failures, tc.node)
			want := time.Time{}
			if tc.until > 0 {
				want = at(time.Duration(tc.until) * time.Second)
			}
			if !until.Equal(want) {
				t.Errorf("the backoff ends at %v, want %v", until, want)
			}
		})
	}
}

// TestFailuresPerHourAreBounded creates pods as soon as the backoff allows it on a node that rejects every pod
// (kubernetes#94245).
func TestFailuresPerHourAreBounded(t *testing.T) {
	var failures []PodFailure
	for now := t0; now.Before(at(time.Hour)); {
		failures = append(failures, PodFailure{Node: "n1", Cause: "Evicted", StartedAt: now, FailedAt: now})
		until, reason := BackoffUntil(failures, "n1")
		if !until.After(now) || until.Sub(now) > MaxBackoff || reason.Cause != "Evicted" {
			t.Fatalf("after %d failures the backoff is %v, for %+v; want more than 0, at most %v, for Evicted", len(failures), until.Sub(now), reason, MaxBackoff)
		}
		now = until
	}
	if len(failures) != 11 { // at 0, 10 s, 30 s, 70 s, ... 630 s, then every ten minutes
		t.Errorf("%d pods were created in an hour, want 11", len(failures))
	}
}

func TestFailureOf(t *testing.T) {
	p := Pod{Node: "n1", Phase: model.Failed, Created: t0, Started: at(time.Second), Ended: at(time.Minute), Reason: "Evicted", Disrupted: "TerminationByKubelet"}
	d, ok := FailureOf(&p)
	if want := (PodFailure{Node: "n1", Cause: "Evicted", StartedAt: at(time.Second), FailedAt: at(time.Minute)}); !ok || d != want {
		t.Errorf("got %+v, %v, want %+v", d, ok, want)
	}
	p.Reason = ""
	if d, ok := FailureOf(&p); !ok || d.Cause != "TerminationByKubelet" {
		t.Errorf("without a reason: got %+v, %v, want TerminationByKubelet", d, ok)
	}
	p.Disrupted = ""
	if _, ok := FailureOf(&p); ok {
		t.Error("FailureOf a pod without a reason returned true, want false")
	}
}
