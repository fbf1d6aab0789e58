package agent

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

func TestRepeatedTask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start, env := time.Now(), ProductionEnvironment()
		var calls []time.Duration
		task := NewRepeatedTask(env.Go, env.Clock.AfterFunc, func() time.Duration {
			calls = append(calls, time.Since(start))
			time.Sleep(2 * time.Second)
			if len(calls) >= 5 {
				return Never
			}
			return 10 * time.Second
		})
		task.Schedule(time.Second)
		time.Sleep(20 * time.Second) // calls at 1 s and 13 s
		task.Trigger()
		time.Sleep(time.Second)
		task.Trigger()
		task.Trigger() // with the previous trigger, one call after the current one
		time.Sleep(time.Minute)
		task.Trigger() // after a call that returned Never
		synctest.Wait()
		want := []time.Duration{1 * time.Second, 13 * time.Second, 20 * time.Second, 22 * time.Second, 34 * time.Second, 81 * time.Second}
		if !slices.Equal(calls, want) {
			t.Errorf("calls at %v, want %v", calls, want)
		}
		time.Sleep(3 * time.Second)
	})
}

// TestLimiter checks that at most the given number of functions runs at a time, in the order of start.
func TestLimiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tasks := &tasks{env: ProductionEnvironment()}
		l := newLimiter(tasks, 2)
		start := time.Now()
		var ends [5]time.Duration
		for i := range ends {
			l.start(func() {
				time.Sleep(time.Duration(i+1) * time.Second)
				ends[i] = time.Since(start)
			})
		}
		tasks.stop()
		if want := [5]time.Duration{1 * time.Second, 2 * time.Second, 4 * time.Second, 6 * time.Second, 9 * time.Second}; ends != want {
			t.Errorf("ended at %v, want %v", ends, want)
		}
		l.start(func() { t.Error("a function runs after the end") })
		synctest.Wait()
	})
}
