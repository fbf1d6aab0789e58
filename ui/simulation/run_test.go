package simulation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/berthproject/berth/sim/cluster"
	"github.com/berthproject/berth/sim/trace"
)

func newSimulation(t *testing.T, text string) *trace.Simulation {
	t.Helper()
	scenario, err := Parse(text, DefaultLimits)
	if err != nil {
		t.Fatal(err)
	}
	o, err := cluster.Defaults()
	if err != nil {
		t.Fatal(err)
	}
	return &trace.Simulation{Options: o, Scenario: scenario, Until: scenario.Until()}
}

const overload = `node n1..n2 cpu=2
pod low1..low4 cpu=1 priority=0 replace
at 10s pod high1..high2 cpu=1 priority=10
at 20s delete node n2
until 1m`

// TestFramesMatchSummary replays the frames and compares the last state and the timeline with the summary.
func TestFramesMatchSummary(t *testing.T) {
	nodes, pods := map[string]bool{}, map[string]string{}
	lines, last := 0, 0.0
	result, err := Run(context.Background(), newSimulation(t, overload), DefaultLimits, func(f *Frame) error {
		if f.At < last {
			t.Errorf("frame at %v after %v", f.At, last)
		}
		last, lines = f.At, lines+len(f.Lines)
		for _, name := range f.DeletedNodes {
			delete(nodes, name)
		}
		for _, n := range f.Nodes {
			nodes[n.Name] = true
		}
		for _, key := range f.DeletedPods {
			delete(pods, key)
		}
		for i := 0; f.Pods != nil && i < len(f.Pods.Name); i++ {
			pods[f.Pods.Strings[f.Pods.Namespace[i]]+"/"+f.Pods.Name[i]] = f.Pods.Strings[f.Pods.Node[i]]
		}
		_, err := json.Marshal(f)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	bound := 0
	for _, node := range pods {
		if node != "" {
			bound++
		}
	}
	if s := result.Summary; len(nodes) != 1 || bound != s.Bound || len(pods)-bound != s.Pending || s.Victims == 0 {
		t.Errorf("got nodes %v, pods %v; the summary has %d bound, %d pending, %d victims", nodes, pods, s.Bound, s.Pending, s.Victims)
	}
	if lines != result.TimelineLines || lines == 0 || last != 60 {
		t.Errorf("got %d lines until %v s, want %d until 60 s", lines, last, result.TimelineLines)
	}
}

func TestLimits(t *testing.T) {
	small := DefaultLimits
	small.Nodes, small.Pods, small.Steps, small.Lines, small.Heap = 20, 50, 1000, 200, 64<<20
	for _, c := range []struct{ text, want string }{
		{"node n1..n30\nuntil 1h", "more than 20 nodes"},
		{"node n1\nreplicaset a replicas=100000\nuntil 1h", "more than 50 pods"},
		{"node n1..n9 cpu=8\npod a1..a40 cpu=1 replace\nat 1s taint n1 a:NoExecute\nuntil 900h", "more than"},
		{"node n1 cpu=1\npod a1..a40 cpu=1 runs=10ms replace\noption backoff=10ms maxbackoff=10ms leftover=10ms\nuntil 1h", "more than"},
	} {
		s, err := Parse(c.text, small)
		if err != nil {
			t.Fatalf("%q: %v", c.text, err)
		}
		o, err := cluster.Defaults()
		if err != nil {
			t.Fatal(err)
		}
		_, err = Run(context.Background(), &trace.Simulation{Options: o, Scenario: s, Until: s.Until()}, small, func(*Frame) error { return nil })
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "berth simulate") {
			t.Errorf("%q: got error %v, want %q", c.text, err, c.want)
		}
	}
}

func TestRunEndsWithItsClient(t *testing.T) {
	before := runtime.NumGoroutine()
	ctx, cancel := context.WithCancel(context.Background())
	frames := 0
	_, err := Run(ctx, newSimulation(t, overload+"\nat 1s drain n1 berth"), DefaultLimits, func(*Frame) error {
		frames++
		cancel()
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got error %v after a cancellation", err)
	}
	closed := errors.New("closed")
	if _, err := Run(context.Background(), newSimulation(t, overload), DefaultLimits, func(*Frame) error { return closed }); !errors.Is(err, closed) {
		t.Errorf("got error %v, want that of send", err)
	}
	slow := DefaultLimits
	slow.Duration = time.Nanosecond
	if _, err := Run(context.Background(), newSimulation(t, overload), slow, func(*Frame) error { return nil }); err == nil || !strings.Contains(err.Error(), "took longer") || !IsUserError(err) {
		t.Errorf("got error %v, want that of the duration", err)
	}
	if n := runtime.NumGoroutine(); n > before+5 {
		t.Errorf("%d goroutines remain, %d before", n, before)
	}
}

func TestErrorLine(t *testing.T) {
	_, err := Parse("node n1\npod a cpu=x", DefaultLimits)
	if line := ErrorLine(fmt.Errorf("parsing: %w", err)); line != 2 {
		t.Errorf("got line %d of %v, want 2", line, err)
	}
	if line := ErrorLine(errors.New("another")); line != 0 {
		t.Errorf("got line %d, want 0", line)
	}
}

// TestPanicsEndTheRun checks that a panic is an error, and that no coroutine remains.
func TestPanicsEndTheRun(t *testing.T) {
	before := runtime.NumGoroutine()
	for range 20 {
		_, err := Run(context.Background(), newSimulation(t, overload+"\nat 10s drain n1 berth\nat 10s evict low1..low4"), DefaultLimits, func(f *Frame) error {
			if f.At >= 10 {
				panic("in a test")
			}
			return nil
		})
		if err == nil || !strings.Contains(err.Error(), "panicked: in a test") {
			t.Fatalf("got error %v, want that of the panic", err)
		}
	}
	if n := runtime.NumGoroutine(); n > before+5 {
		t.Errorf("%d goroutines remain, %d before", n, before)
	}
}

// TestHeapLimitIgnoresGarbage checks that the limit applies to live objects: other parts of the process produce garbage, too.
func TestHeapLimitIgnoresGarbage(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	runtime.GC()
	limits := DefaultLimits
	limits.Heap = 16 << 20
	var kept [][]byte
	for _, c := range []struct {
		keep bool
		want string
	}{{false, ""}, {true, "uses more than 16 MiB of memory"}} {
		_, err := Run(context.Background(), newSimulation(t, overload), limits, func(*Frame) error {
			data := make([]byte, 8<<20)
			if c.keep {
				kept = append(kept, data)
				runtime.GC()
			}
			return nil
		})
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("kept %t: got error %v, want %q", c.keep, err, c.want)
		}
	}
	runtime.KeepAlive(kept)
}
