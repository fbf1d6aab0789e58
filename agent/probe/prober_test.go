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

	"github.com/berthproject/berth/engine/podlife"
)

// bench is a Prober in a bubble of virtual time; answers come from a script.
type bench struct {
	*Prober
	began  time.Time
	asked  []string // second and probe
	told   []string
	events []string
	answer func(probe podlife.Probes, n int) answer // of the n-th question from 0
	takes  time.Duration
	stop   func()
}

func newBench(t *testing.T) *bench {
	b := &bench{began: time.Now(), answer: func(podlife.Probes, int) answer { return answer{} }}
	b.Prober = New(Options{
		Report: func(r Result) {
			b.told = append(b.told, fmt.Sprintf("%s %s %s#%d %v", b.at(), r.Probe, r.Container, r.Attempt, r.OK))
		},
		Event: func(pod *corev1.Pod, c, kind, reason, message string) {
			b.events = append(b.events, fmt.Sprintf("%s %s %s: %s", kind, c, reason, message))
		},
	})
	counts := map[string]int{}
	b.ask = func(ctx context.Context, target *Target, spec *corev1.Probe) answer {
		b.mu.Lock()
		b.asked = append(b.asked, b.at()+" "+target.Probe.String())
		k := string(target.Pod.UID) + target.Container.Name + target.Probe.String()
		n := counts[k]
		counts[k]++
		b.mu.Unlock()
		select {
		case <-time.After(b.takes):
		case <-ctx.Done():
			return answer{bad, "timed out"}
		}
		return b.answer(target.Probe, n)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { b.Run(ctx); close(done) }()
	b.stop = func() { cancel(); <-done }
	return b
}

func (b *bench) at() string { return time.Since(b.began).String() }

// pass lets time pass.
func (b *bench) pass(d time.Duration) { time.Sleep(d); synctest.Wait() }

// target is the one probe of a container that started just now.
func target(probe podlife.Probes, spec corev1.Probe) Target {
	c := &corev1.Container{Name: "main"}
	switch probe {
	case podlife.Startup:
		c.StartupProbe = &spec
	case podlife.Readiness:
		c.ReadinessProbe = &spec
	default:
		c.LivenessProbe = &spec
	}
	return Target{Pod: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "u"}}, Container: c, Probe: probe, Attempt: 1, Started: time.Now()}
}

func equal(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n%s\nwant:\n%s", what, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestWhenAProbeAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.Start(target(podlife.Readiness, corev1.Probe{InitialDelaySeconds: 5, PeriodSeconds: 10}))
		b.pass(26 * time.Second)
		b.stop()
		equal(t, "asked", b.asked, "5s Readiness", "15s Readiness", "25s Readiness")
		equal(t, "told", b.told, "5s Readiness main#1 true")
	})
}

func TestThresholds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		script := "yyynnynnnyyn?nn" // a second each; ? could not be asked
		b.answer = func(_ podlife.Probes, n int) answer {
			switch script[min(n, len(script)-1)] {
			case 'y':
				return answer{good, ""}
			case '?':
				return answer{unknown, "no runtime"}
			}
			return answer{bad, "no"}
		}
		b.Start(target(podlife.Readiness, corev1.Probe{PeriodSeconds: 1, SuccessThreshold: 2, FailureThreshold: 3}))
		b.pass(time.Duration(len(script)) * time.Second)
		b.stop()
		equal(t, "told", b.told, "1s Readiness main#1 true", "8s Readiness main#1 false", "10s Readiness main#1 true", "14s Readiness main#1 false")
		if n := len(b.events); n < 9 || b.events[0] != "Warning main Unhealthy: Readiness probe failed: no" ||
			!slices.Contains(b.events, "Warning main Unhealthy: Readiness probe errored and resulted in unknown state: no runtime") {
			t.Errorf("%d events: %v", n, b.events)
		}
	})
}

func TestDone(t *testing.T) {
	for name, tc := range map[string]struct {
		probe podlife.Probes
		fails bool
		asks  int
		told  []string
	}{
		"startup passed":  {podlife.Startup, false, 1, []string{"0s Startup main#1 true"}},
		"startup failed":  {podlife.Startup, true, 3, []string{"2s Startup main#1 false"}},
		"liveness failed": {podlife.Liveness, true, 3, []string{"2s Liveness main#1 false"}},
		"liveness passed": {podlife.Liveness, false, 11, []string{"0s Liveness main#1 true"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t)
				b.answer = func(podlife.Probes, int) answer {
					if tc.fails {
						return answer{bad, "no"}
					}
					return answer{}
				}
				b.Start(target(tc.probe, corev1.Probe{PeriodSeconds: 1}))
				b.pass(10 * time.Second)
				b.stop()
				equal(t, "told", b.told, tc.told...)
				if len(b.asked) != tc.asks {
					t.Errorf("asked %d times, want %d: %v", len(b.asked), tc.asks, b.asked)
				}
			})
		})
	}
}

// A question that takes longer than the period is waited for; its timeout is a failure.
func TestOnceAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.takes = 2500 * time.Millisecond
		b.Start(target(podlife.Liveness, corev1.Probe{PeriodSeconds: 1, TimeoutSeconds: 5}))
		b.pass(7 * time.Second)
		equal(t, "asked", b.asked, "0s Liveness", "3s Liveness", "6s Liveness")
		b.stop()
	})
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.takes = time.Hour
		b.Start(target(podlife.Liveness, corev1.Probe{PeriodSeconds: 10, TimeoutSeconds: 2, FailureThreshold: 2}))
		b.pass(time.Minute)
		equal(t, "told", b.told, "12s Liveness main#1 false")
		b.stop()
	})
}

func TestStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.takes = 500 * time.Millisecond
		b.Start(target(podlife.Readiness, corev1.Probe{PeriodSeconds: 1}))
		b.pass(100 * time.Millisecond)
		b.Stop("u", "main", podlife.Readiness) // while it is being asked
		b.pass(10 * time.Second)
		equal(t, "told of what was stopped", b.told)

		b.Start(target(podlife.Readiness, corev1.Probe{PeriodSeconds: 1}))
		b.pass(100 * time.Millisecond)
		again := target(podlife.Readiness, corev1.Probe{PeriodSeconds: 1})
		again.Attempt = 2
		b.Start(again) // the container was restarted meanwhile
		b.pass(900 * time.Millisecond)
		equal(t, "told", b.told, "10.7s Readiness main#2 true")
		b.Stop("u", "main", podlife.Readiness)
		b.Stop("u", "main", podlife.Readiness)
		b.Stop("nobody", "main", podlife.Startup)
		before := len(b.asked)
		b.pass(time.Minute)
		if len(b.asked) != before || len(b.probes)+len(b.waiting) != 0 {
			t.Errorf("%d questions after the end, %d probes kept", len(b.asked)-before, len(b.probes))
		}
		b.stop()
	})
}

// Containers from before the agent are asked within a period, not all at once.
func TestRestartSpreads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		seconds := map[string]int{}
		for i := range 100 {
			old := target(podlife.Liveness, corev1.Probe{PeriodSeconds: 10})
			old.Pod.UID, old.Started = types.UID(fmt.Sprint("pod-", i)), b.began.Add(-time.Hour)
			b.Start(old)
		}
		b.pass(10 * time.Second)
		b.stop()
		for _, a := range b.asked {
			d, _ := time.ParseDuration(strings.Fields(a)[0])
			seconds[d.Truncate(time.Second).String()]++
		}
		if len(b.asked) < 100 || len(seconds) < 10 || slices.Max([]int{seconds["0s"], seconds["5s"], seconds["9s"]}) > 30 {
			t.Errorf("%d questions, by seconds: %v", len(b.asked), seconds)
		}
	})
}

// Who is told holds a lock that callers of Start and Stop hold, too.
func TestFree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		lock, told := make(chan struct{}, 1), 0 // a bubble's time stands still while a sync.Mutex is waited for
		b.opts.Report = func(Result) { lock <- struct{}{}; told++; <-lock }
		b.answer = func(_ podlife.Probes, n int) answer { return answer{kind: kind(n % 2)} }
		b.takes = 500 * time.Microsecond
		for range 1000 {
			lock <- struct{}{}
			b.Start(target(podlife.Readiness, corev1.Probe{PeriodSeconds: 1, FailureThreshold: 1}))
			time.Sleep(time.Millisecond) // the answer comes now
			b.Stop("u", "main", podlife.Readiness)
			<-lock
			synctest.Wait()
		}
		b.stop()
		if told == 0 {
			t.Error("nothing was told")
		}
	})
}

// The agent ends: nobody fails for that.
func TestEndIsNoFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.takes = time.Hour
		b.Start(target(podlife.Liveness, corev1.Probe{PeriodSeconds: 1, TimeoutSeconds: 60, FailureThreshold: 1}))
		b.pass(time.Second)
		b.stop()
		equal(t, "told", b.told)
		equal(t, "events", b.events)
	})
}

func TestNoProbeNoQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		wrong := target(podlife.Liveness, corev1.Probe{})
		wrong.Probe = podlife.Startup
		b.Start(wrong)
		b.pass(time.Minute)
		b.stop()
		equal(t, "asked", b.asked)
	})
}
