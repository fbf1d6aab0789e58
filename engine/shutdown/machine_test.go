package shutdown

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/berthproject/berth/engine/model"
)

var t0 = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// step steps the machine at a second and describes the stops.
func step(m *Machine, second int, ended ...string) string {
	stops, wake, done := m.Step(t0.Add(time.Duration(second)*time.Second), ended...)
	var out []string
	for _, s := range stops {
		out = append(out, fmt.Sprint(s.Pod, " ", s.Grace))
	}
	switch {
	case done:
		out = append(out, "done")
	case !wake.IsZero():
		out = append(out, fmt.Sprint("until ", int(wake.Sub(t0).Seconds())))
	}
	return strings.Join(out, ", ")
}

func TestCriticalPodsStopLast(t *testing.T) {
	m := New(DefaultClasses(30*time.Second, 10*time.Second), []Pod{
		{"critical", model.SystemCriticalPriority, time.Minute}, {"a", 0, time.Minute}, {"b", -5, 5 * time.Second}})
	for _, tc := range []struct {
		second int
		ended  []string
		want   string
	}{
		{0, nil, "a 20s, b 5s, until 20"},
		{3, []string{"b"}, "until 20"},
		{20, nil, "critical 10s, until 30"},
		{21, []string{"critical"}, "done"},
	} {
		if got := step(m, tc.second, tc.ended...); got != tc.want {
			t.Errorf("at %d s: %s, want %s", tc.second, got, tc.want)
		}
	}
}

func TestEmptyClassesTakeNoTime(t *testing.T) {
	m := New([]Class{{100, 10 * time.Second}, {0, time.Minute}, {1000, 5 * time.Second}}, []Pod{{"x", 5000, time.Minute}})
	if got, want := step(m, 0), "x 5s, until 5"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := step(m, 5); got != "done" {
		t.Errorf("got %q, want done", got)
	}
	if got := step(New(nil, nil), 0); got != "done" {
		t.Errorf("without pods: got %q, want done", got)
	}
}

func TestRandomShutdowns(t *testing.T) {
	for seed := range uint64(500) {
		rnd := rand.New(rand.NewPCG(seed, 0))
		var classes []Class
		total := time.Duration(0)
		for range rnd.IntN(4) {
			c := Class{rnd.Int32N(5), time.Duration(rnd.IntN(20)) * time.Second}
			classes, total = append(classes, c), total+c.Grace
		}
		priority, running := map[string]int32{}, map[string]bool{}
		var pods []Pod
		for i := range rnd.IntN(8) {
			p := Pod{fmt.Sprint(i), rnd.Int32N(6) - 1, time.Duration(rnd.IntN(20)) * time.Second}
			pods, priority[p.UID] = append(pods, p), p.Priority
		}
		m, now, done := New(classes, pods), t0, false
		for !done {
			var ended []string
			for uid := range running {
				if rnd.IntN(4) == 0 {
					ended = append(ended, uid)
					delete(running, uid)
				}
			}
			var stops []Stop
			stops, _, done = m.Step(now, ended...)
			for _, s := range stops {
				if _, found := priority[s.Pod]; !found {
					t.Fatalf("seed %d: %s is stopped twice, want once", seed, s.Pod)
				}
				delete(priority, s.Pod)
				running[s.Pod] = true
			}
			if now.Sub(t0) > total && !done {
				t.Fatalf("seed %d: not done after %v, want done within %v", seed, now.Sub(t0), total)
			}
			now = now.Add(time.Second)
		}
		if len(priority) > 0 {
			t.Fatalf("seed %d: done, and %v were not stopped, want all stopped", seed, priority)
		}
	}
}

// TestClassBoundsGracePeriod checks that Grace returns the grace period with which Step stops the pod.
func TestClassBoundsGracePeriod(t *testing.T) {
	for _, classes := range [][]Class{nil, {{0, time.Minute}}, {{model.SystemCriticalPriority, time.Second}, {10, time.Minute}, {0, time.Hour}}} {
		for _, p := range []Pod{{"a", -1, 30 * time.Second}, {"b", 0, 2 * time.Hour}, {"c", 10, 2 * time.Minute}, {"d", model.SystemCriticalPriority, 30 * time.Second}} {
			stops, _, _ := New(classes, []Pod{p}).Step(time.Unix(0, 0))
			if got := Grace(classes, p); len(stops) != 1 || got != stops[0].Grace {
				t.Errorf("%v with classes %v: Grace returned %v, want that of the stops %v", p, classes, got, stops)
			}
		}
	}
}
