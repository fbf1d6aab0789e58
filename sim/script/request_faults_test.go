package script

import (
	"slices"
	"strings"
	"testing"

	"github.com/berthproject/berth/sim/cluster"
)

// runScript runs a scenario and returns its timeline.
func runScript(t *testing.T, text string) (lines []string) {
	t.Helper()
	s, err := Parse("test", text)
	if err != nil {
		t.Fatal(err)
	}
	o, err := cluster.Defaults()
	if err != nil {
		t.Fatal(err)
	}
	result, err := s.Run(o)
	if err != nil || result.Err() != nil {
		t.Fatal(err, result.Err())
	}
	for _, l := range result.Timeline {
		lines = append(lines, l.String())
	}
	return lines
}

// TestFaultsOfControllerRequests injects a fault into each kind of request of the workload controllers. The controllers
// retry.
func TestFaultsOfControllerRequests(t *testing.T) {
	for _, kind := range []string{"create", "scale", "setstatus"} {
		lines := runScript(t, `
node n1
at 1s fault refuse `+kind+` times=2
at 2s deployment web replicas=2 cpu=100m
at 10s scale web 1
expect at 2m running 1
until 2m
`)
		if !slices.ContainsFunc(lines, func(l string) bool { return strings.Contains(l, "the "+kind+" request of workload is refused") }) {
			t.Errorf("no request of kind %s is refused in\n%s", kind, strings.Join(lines, "\n"))
		}
	}
	for _, kind := range []string{"get", "update", "patch"} {
		if _, err := Parse("test", "at 1s fault refuse "+kind+"\nuntil 2s\n"); err != nil {
			t.Error(err)
		}
	}
}

// TestEvictionRetriesItsRecord checks that the pod of an eviction is not deleted while its record cannot be written.
func TestEvictionRetriesItsRecord(t *testing.T) {
	for _, fault := range []string{"refuse", "requestlost", "responselost"} {
		lines := runScript(t, `
node n1
pod a cpu=1
at 10s fault `+fault+` event times=3
at 11s evict a
expect at 1m recorded EvictionByEvictionAPI a
expect at 1m pod a deleted
until 1m
`)
		attempts := 0
		for _, l := range lines {
			attempts += strings.Count(l, "the event request of apiserver")
		}
		if attempts != 3 {
			t.Errorf("%s: the eviction wrote its record %d times with a fault, want 3, in\n%s", fault, attempts, strings.Join(lines, "\n"))
		}
	}
}
