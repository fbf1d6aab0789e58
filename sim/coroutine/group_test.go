package coroutine

import (
	"fmt"
	"slices"
	"testing"
)

// waitList is a list of pending resumptions, in the order in which coroutines wait.
type waitList struct{ pending []func() }

func (w *waitList) wait(g *Group) {
	g.Wait(func(resume func()) { w.pending = append(w.pending, resume) })
}

// step resumes the coroutine that has waited longest.
func (w *waitList) step() {
	next := w.pending[0]
	w.pending = w.pending[1:]
	next()
}

func TestCoroutinesTakeTurns(t *testing.T) {
	var g Group
	var w waitList
	var log []string
	for _, name := range []string{"a", "b"} {
		g.Go(name, func() {
			for i := range 2 {
				log = append(log, fmt.Sprint(g.Name(), i))
				w.wait(&g)
			}
			log = append(log, g.Name()+" ends")
		})
	}
	for len(w.pending) > 0 {
		w.step()
	}
	if want := []string{"a0", "b0", "a1", "b1", "a ends", "b ends"}; !slices.Equal(log, want) || g.Name() != "" || len(g.live) > 0 {
		t.Errorf("log %q, want %q; %d coroutines have not ended, want 0", log, want, len(g.live))
	}
}

func TestForEachLimitsAndWaits(t *testing.T) {
	var g Group
	var w waitList
	running, maxRunning, done, ended := 0, 0, 0, false
	g.Go("parent", func() {
		g.ForEach(7, 3, func(int) {
			running++
			maxRunning = max(maxRunning, running)
			w.wait(&g)
			running--
			done++
		})
		g.ForEach(3, 3, func(int) { done++ })
		ended = true
	})
	for len(w.pending) > 0 {
		if ended {
			t.Fatal("ForEach returned before its calls")
		}
		w.step()
	}
	if maxRunning != 3 || done != 10 || !ended {
		t.Errorf("%d at once, %d done, ended %t; want 3, 10, true", maxRunning, done, ended)
	}
}

func TestKillEndsAtTheWait(t *testing.T) {
	var g Group
	var w waitList
	var log []string
	g.Go("parent", func() {
		defer func() { log = append(log, "deferred") }()
		g.ForEach(2, 2, func(i int) {
			defer func() { log = append(log, fmt.Sprint("deferred ", i)) }()
			w.wait(&g)
			log = append(log, "after the wait")
		})
		log = append(log, "after ForEach")
	})
	g.Kill()
	for len(w.pending) > 0 {
		w.step()
	}
	if want := []string{"deferred", "deferred 0", "deferred 1"}; !slices.Equal(log, want) || len(g.live) > 0 {
		t.Errorf("log %q, want %q; %d coroutines have not ended, want 0", log, want, len(g.live))
	}
}

func BenchmarkWait(b *testing.B) {
	var g Group
	var resume func()
	g.Go("a", func() {
		for {
			g.Wait(func(r func()) { resume = r })
		}
	})
	for b.Loop() {
		resume()
	}
	g.Kill()
}

func BenchmarkGo(b *testing.B) {
	var g Group
	for b.Loop() {
		g.Go("a", func() {})
	}
}
