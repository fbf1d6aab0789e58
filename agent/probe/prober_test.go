package probe

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/engine/podlifecycle"
)

// fixture is a Prober in virtual time with scripted results.
type fixture struct {
	*Prober
	start    time.Time
	probed   []string // elapsed time and probe
	reported []string
	events   []string
	resultOf func(probe podlifecycle.Probes, n int) result // result of the n-th run, from 0
	duration time.Duration
	stop     func()
}

func newFixture(t *testing.T) *fixture {
	f := &fixture{start: time.Now(), resultOf: func(podlifecycle.Probes, int) result { return result{} }}
	f.Prober = New(Options{
		Report: func(r Result) {
			f.reported = append(f.reported, fmt.Sprintf("%s %s %s#%d %v", f.elapsed(), r.Probe, r.Container, r.Attempt, r.OK))
		},
		RecordEvent: func(pod *corev1.Pod, c, kind, reason, message string) {
			f.events = append(f.events, fmt.Sprintf("%s %s %s: %s", kind, c, reason, message))
		},
	})
	counts := map[string]int{}
	f.run = func(ctx context.Context, target *Target, spec *corev1.Probe) result {
		f.mu.Lock()
		f.probed = append(f.probed, f.elapsed()+" "+target.Probe.String())
		k := string(target.Pod.UID) + target.Container.Name + target.Probe.String()
		n := counts[k]
		counts[k]++
		f.mu.Unlock()
		select {
		case <-time.After(f.duration):
		case <-ctx.Done():
			return result{failure, "timed out"}
		}
		return f.resultOf(target.Probe, n)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { f.Run(ctx); close(done) }()
	f.stop = func() { cancel(); <-done }
	return f
}

func (f *fixture) elapsed() string { return time.Since(f.start).String() }

func (f *fixture) advance(d time.Duration) { time.Sleep(d); synctest.Wait() }

// target returns a probe of a container that has just started.
func target(probe podlifecycle.Probes, spec corev1.Probe) Target {
	c := &corev1.Container{Name: "main"}
	switch probe {
	case podlifecycle.Startup:
		c.StartupProbe = &spec
	case podlifecycle.Readiness:
		c.ReadinessProbe = &spec
	default:
		c.LivenessProbe = &spec
	}
	return Target{Pod: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "u"}}, Container: c, Probe: probe, Attempt: 1, Started: time.Now()}
}

func checkEqual(t *testing.T, desc string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n%s\nwant:\n%s", desc, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestProbeTiming(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.Start(target(podlifecycle.Readiness, corev1.Probe{InitialDelaySeconds: 5, PeriodSeconds: 10}))
		f.advance(26 * time.Second)
		f.stop()
		checkEqual(t, "probed", f.probed, "5s Readiness", "15s Readiness", "25s Readiness")
		checkEqual(t, "reported", f.reported, "5s Readiness main#1 true")
	})
}

func TestThresholds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		script := "yyynnynnnyyn?nn" // one per second; "?" is an error
		f.resultOf = func(_ podlifecycle.Probes, n int) result {
			switch script[min(n, len(script)-1)] {
			case 'y':
				return result{success, ""}
			case '?':
				return result{unknown, "no runtime"}
			}
			return result{failure, "not ready"}
		}
		f.Start(target(podlifecycle.Readiness, corev1.Probe{PeriodSeconds: 1, SuccessThreshold: 2, FailureThreshold: 3}))
		f.advance(time.Duration(len(script)) * time.Second)
		f.stop()
		checkEqual(t, "reported", f.reported, "1s Readiness main#1 true", "8s Readiness main#1 false", "10s Readiness main#1 true", "14s Readiness main#1 false")
		if n := len(f.events); n < 9 || f.events[0] != "Warning main Unhealthy: Readiness probe failed: not ready" ||
			!slices.Contains(f.events, "Warning main Unhealthy: Readiness probe errored and resulted in unknown state: no runtime") {
			t.Errorf("%d events %v, want at least 9 with failures and an error", n, f.events)
		}
	})
}

func TestFinalVerdictStopsProbe(t *testing.T) {
	for name, tc := range map[string]struct {
		probe   podlifecycle.Probes
		fails   bool
		runs    int
		reports []string
	}{
		"startup passed":  {podlifecycle.Startup, false, 1, []string{"0s Startup main#1 true"}},
		"startup failed":  {podlifecycle.Startup, true, 3, []string{"2s Startup main#1 false"}},
		"liveness failed": {podlifecycle.Liveness, true, 3, []string{"2s Liveness main#1 false"}},
		"liveness passed": {podlifecycle.Liveness, false, 11, []string{"0s Liveness main#1 true"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t)
				f.resultOf = func(podlifecycle.Probes, int) result {
					if tc.fails {
						return result{failure, "not ready"}
					}
					return result{}
				}
				f.Start(target(tc.probe, corev1.Probe{PeriodSeconds: 1}))
				f.advance(10 * time.Second)
				f.stop()
				checkEqual(t, "reported", f.reported, tc.reports...)
				if len(f.probed) != tc.runs {
					t.Errorf("%d probes, want %d: %v", len(f.probed), tc.runs, f.probed)
				}
			})
		})
	}
}

// TestNoConcurrentProbes checks that a probe that takes longer than the period delays the next one, and that a timeout
// is a failure.
func TestNoConcurrentProbes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.duration = 2500 * time.Millisecond
		f.Start(target(podlifecycle.Liveness, corev1.Probe{PeriodSeconds: 1, TimeoutSeconds: 5}))
		f.advance(7 * time.Second)
		checkEqual(t, "probed", f.probed, "0s Liveness", "3s Liveness", "6s Liveness")
		f.stop()
	})
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.duration = time.Hour
		f.Start(target(podlifecycle.Liveness, corev1.Probe{PeriodSeconds: 10, TimeoutSeconds: 2, FailureThreshold: 2}))
		f.advance(time.Minute)
		checkEqual(t, "reported", f.reported, "12s Liveness main#1 false")
		f.stop()
	})
}

func TestStopEndsProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.duration = 500 * time.Millisecond
		f.Start(target(podlifecycle.Readiness, corev1.Probe{PeriodSeconds: 1}))
		f.advance(100 * time.Millisecond)
		f.Stop("u", "main", podlifecycle.Readiness) // while it runs
		f.advance(10 * time.Second)
		checkEqual(t, "reported after Stop", f.reported)

		f.Start(target(podlifecycle.Readiness, corev1.Probe{PeriodSeconds: 1}))
		f.advance(100 * time.Millisecond)
		restarted := target(podlifecycle.Readiness, corev1.Probe{PeriodSeconds: 1})
		restarted.Attempt = 2
		f.Start(restarted) // the container has restarted
		f.advance(900 * time.Millisecond)
		checkEqual(t, "reported", f.reported, "10.7s Readiness main#2 true")
		f.Stop("u", "main", podlifecycle.Readiness)
		f.Stop("u", "main", podlifecycle.Readiness)
		f.Stop("unknown", "main", podlifecycle.Startup)
		before := len(f.probed)
		f.advance(time.Minute)
		if len(f.probed) != before || len(f.probes)+len(f.queue) != 0 {
			t.Errorf("%d probes ran after Stop and %d remain, want 0", len(f.probed)-before, len(f.probes))
		}
		f.stop()
	})
}

// TestProbesAreSpreadAfterRestart checks that probes of containers that started before the agent are spread over a
// period.
func TestProbesAreSpreadAfterRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		seconds := map[string]int{}
		for i := range 100 {
			started := target(podlifecycle.Liveness, corev1.Probe{PeriodSeconds: 10})
			started.Pod.UID, started.Started = types.UID(fmt.Sprint("pod-", i)), f.start.Add(-time.Hour)
			f.Start(started)
		}
		f.advance(10 * time.Second)
		f.stop()
		for _, p := range f.probed {
			d, _ := time.ParseDuration(strings.Fields(p)[0])
			seconds[d.Truncate(time.Second).String()]++
		}
		if len(f.probed) < 100 || len(seconds) < 10 || slices.Max([]int{seconds["0s"], seconds["5s"], seconds["9s"]}) > 30 {
			t.Errorf("%d probes, by second %v, want at least 100, spread over 10 s", len(f.probed), seconds)
		}
	})
}

// TestReportMayTakeCallerLocks checks that Report can take a lock that callers of Start and Stop hold.
func TestReportMayTakeCallerLocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		lock, reports := make(chan struct{}, 1), 0 // virtual time does not advance while a goroutine waits for a sync.Mutex
		f.opts.Report = func(Result) { lock <- struct{}{}; reports++; <-lock }
		f.resultOf = func(_ podlifecycle.Probes, n int) result { return result{outcome: outcome(n % 2)} }
		f.duration = 500 * time.Microsecond
		for range 1000 {
			lock <- struct{}{}
			f.Start(target(podlifecycle.Readiness, corev1.Probe{PeriodSeconds: 1, FailureThreshold: 1}))
			time.Sleep(time.Millisecond) // the result arrives now
			f.Stop("u", "main", podlifecycle.Readiness)
			<-lock
			synctest.Wait()
		}
		f.stop()
		if reports == 0 {
			t.Error("0 reports, want at least 1")
		}
	})
}

// TestShutdownIsNotAFailure checks that a shutdown of the agent is not a probe failure.
func TestShutdownIsNotAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.duration = time.Hour
		f.Start(target(podlifecycle.Liveness, corev1.Probe{PeriodSeconds: 1, TimeoutSeconds: 60, FailureThreshold: 1}))
		f.advance(time.Second)
		f.stop()
		checkEqual(t, "reported", f.reported)
		checkEqual(t, "events", f.events)
	})
}

func TestContainerWithoutProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		missing := target(podlifecycle.Liveness, corev1.Probe{})
		missing.Probe = podlifecycle.Startup
		f.Start(missing)
		f.advance(time.Minute)
		f.stop()
		checkEqual(t, "probed", f.probed)
	})
}
