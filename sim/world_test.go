package sim_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/sim"
	"github.com/berthproject/berth/sim/store"
)

// watcher is a controller that records what it observes.
type watcher struct {
	*sim.Client
	observed []string
}

func (c *watcher) OnSynced() { c.observed = append(c.observed, "synced") }
func (c *watcher) OnStop()   { c.observed = append(c.observed, "stopped") }
func (c *watcher) OnChange(k store.Kind, old, current store.Object) {
	switch {
	case old == nil:
		c.observed = append(c.observed, "created "+current.GetName())
	case current == nil:
		c.observed = append(c.observed, "deleted "+old.GetName())
	default:
		c.observed = append(c.observed, "updated "+current.GetName())
	}
}

// start returns a world 10 s after its start, with a watcher of nodes whose watches lag by a second.
func start(t *testing.T) (*sim.World, *watcher) {
	t.Helper()
	w := sim.New(sim.Options{Latency: time.Millisecond, Lag: time.Second})
	c := &watcher{}
	c.Client = w.NewClient("watcher", c, store.Nodes)
	c.Start()
	run(t, w, 10*time.Second)
	return w, c
}

func run(t *testing.T, w *sim.World, until time.Duration) {
	t.Helper()
	if err := w.Run(until); err != nil {
		t.Fatal(err)
	}
}

func create(t *testing.T, w *sim.World, name string) {
	t.Helper()
	if err := w.API().Create(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
		t.Fatal(err)
	}
}

func TestWatchLags(t *testing.T) {
	w, c := start(t)
	create(t, w, "n1")
	run(t, w, 10*time.Second+999*time.Millisecond)
	if c.Node("n1") != nil {
		t.Error("the change arrived before the lag")
	}
	run(t, w, 11*time.Second)
	if want := []string{"synced", "created n1"}; !slices.Equal(c.observed, want) || c.Node("n1") == nil {
		t.Errorf("observed %v, want %v", c.observed, want)
	}
}

func TestKilledActorListsAgain(t *testing.T) {
	w, c := start(t)
	create(t, w, "n1")
	called := false
	c.After(5*time.Second, func() { called = true })
	w.Kill("watcher", 20*time.Second)
	run(t, w, 29*time.Second)
	if c.IsSynced() || called {
		t.Errorf("killed actor: synced %v, callback called %v; want false, false", c.IsSynced(), called)
	}
	run(t, w, 40*time.Second)
	if want := []string{"synced", "stopped", "synced"}; !slices.Equal(c.observed, want) || c.Node("n1") == nil {
		t.Errorf("observed %v, want %v", c.observed, want)
	}
}

func TestDroppedWatchListsAgain(t *testing.T) {
	w, c := start(t)
	var notices []sim.WatchLost
	w.OnNotice(func(n any) {
		if l, ok := n.(sim.WatchLost); ok {
			notices = append(notices, l)
		}
	})
	create(t, w, "n1")
	w.DropWatch("watcher", store.Nodes, 20*time.Second)
	run(t, w, 30*time.Second)
	if c.Node("n1") != nil || len(notices) != 1 || notices[0].Actor != "watcher" {
		t.Errorf("node in the cache: %v, notices %v; want none and one WatchLost", c.Node("n1"), notices)
	}
	run(t, w, 31*time.Second)
	if c.Node("n1") == nil {
		t.Error("the object is missing after the next list")
	}
}

func TestRequestFaults(t *testing.T) {
	for fault, want := range map[sim.Fault]struct{ executed, failed bool }{
		sim.NoFault: {true, false}, sim.Refuse: {false, true}, sim.Conflict: {false, true}, sim.RequestLost: {false, true}, sim.ResponseLost: {true, true}, sim.Delayed: {true, true},
	} {
		t.Run(fault.String(), func(t *testing.T) {
			w, c := start(t)
			w.Faults().Add(sim.FaultRule{Fault: fault, Request: "node", Times: 1})
			executed, failed := 0, 0
			c.Send(&sim.Request{Kind: "node", Key: "n1", Execute: func() error { executed++; return nil }, OnResult: func(err error) {
				if err != nil {
					failed++
				}
			}})
			run(t, w, time.Minute)
			if executed > 1 || (executed == 1) != want.executed || (failed == 1) != want.failed {
				t.Errorf("executed %d times, failed %d times, want %+v", executed, failed, want)
			}
		})
	}
}

func TestWorkQueueBacksOff(t *testing.T) {
	w, c := start(t)
	var times []time.Duration
	q := sim.NewWorkQueue(c.Client, 1, func(_ string, done func(time.Duration, error)) {
		if times = append(times, w.Elapsed()-10*time.Second); len(times) < 4 {
			done(0, errors.New("not yet"))
			return
		}
		done(0, nil)
	})
	q.Add("key", 0)
	q.Add("key", time.Second) // no effect: the earlier end of a delay counts
	run(t, w, time.Minute)
	if want := []time.Duration{0, 5 * time.Millisecond, 15 * time.Millisecond, 35 * time.Millisecond}; !slices.Equal(times, want) {
		t.Errorf("reconciled at %v, want %v", times, want)
	}
}

// TestWorkQueueLimitsWorkers checks that keys wait for a free worker in order. A key that is added while it is processed
// is processed once more.
func TestWorkQueueLimitsWorkers(t *testing.T) {
	w, c := start(t)
	var log []string
	at := func() string { return (w.Elapsed() - 10*time.Second).String() }
	var q *sim.WorkQueue[string]
	q = sim.NewWorkQueue(c.Client, 2, func(key string, done func(time.Duration, error)) {
		log = append(log, key+" at "+at())
		if len(log) == 1 {
			q.Add(key, 0)
		}
		w.After(time.Second, func() { done(0, nil) })
	})
	for _, key := range []string{"a", "b", "c", "b"} {
		q.Add(key, 0)
	}
	run(t, w, time.Minute)
	if want := []string{"a at 0s", "b at 0s", "c at 1s", "a at 1s"}; !slices.Equal(log, want) {
		t.Errorf("processed %q, want %q", log, want)
	}
}
