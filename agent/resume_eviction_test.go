package agent_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/berthproject/berth/agent"
	"github.com/berthproject/berth/agent/runtime/simulated"
	"github.com/berthproject/berth/engine/shutdown"
)

// fakeResumer grants resumed evictions 60 s.
type fakeResumer struct {
	fakePressure
	doneCalled atomic.Bool
}

func (r *fakeResumer) ResumeEviction(_ *corev1.Pod, since time.Time) (time.Time, func()) {
	return since.Add(60 * time.Second), func() { r.doneCalled.Store(true) }
}

const shutdownConditionMessage = "Pod was terminated in response to imminent node shutdown."

// TestEvictionResumesAfterRestart checks evictions with a grace period of 100 s when the agent restarts
// after 20 s.
func TestEvictionResumesAfterRestart(t *testing.T) {
	for name, tc := range map[string]struct {
		condition, reason, message string
		hasPressure                bool
		duration                   time.Duration
		classes                    agent.Shutdown
	}{
		"soft threshold":           {"The node was low on resource: memory. ", "Evicted", "The node was low on resource: memory. ", true, 60 * time.Second, nil},
		"no node pressure manager": {"The node was low on resource: memory. ", "Evicted", "The node was low on resource: memory. ", false, 100 * time.Second, nil},
		"preemption":               {"Pod was preempted by Kubelet to accommodate a critical pod.", "Preempting", "Preempted in order to admit critical pod", true, 100 * time.Second, nil},
		"shutdown":                 {shutdownConditionMessage, "Terminated", shutdownConditionMessage, true, 100 * time.Second, nil},
		"short shutdown class":     {shutdownConditionMessage, "Terminated", shutdownConditionMessage, true, 70 * time.Second, shutdown.DefaultClasses(80*time.Second, 10*time.Second)},
		"long shutdown class":      {shutdownConditionMessage, "Terminated", shutdownConditionMessage, true, 100 * time.Second, shutdown.DefaultClasses(200*time.Second, 10*time.Second)},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				api := fake.NewClientset(pod("p", func(p *corev1.Pod) {
					p.Annotations = map[string]string{simulated.StopSeconds: "4000"}
					grace := int64(100)
					p.Spec.TerminationGracePeriodSeconds = &grace
				}))
				a, stop := startAgent(t, api, func(*agent.Options) {})
				waitBriefly()
				start := time.Now()
				a.Evict(agent.Eviction{Pod: "p", Reason: tc.reason, Message: tc.message, Grace: 100 * time.Second,
					Condition: &corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: corev1.PodReasonTerminationByKubelet, Message: tc.condition}})
				time.Sleep(20 * time.Second)
				stop()
				var r fakeResumer
				_, stop = startAgent(t, api, func(o *agent.Options) {
					o.Shutdown = tc.classes
					if tc.hasPressure {
						o.Pressure = func(string) agent.PressureManager { return &r }
					}
				})
				defer stop()
				time.Sleep(time.Until(start.Add(tc.duration - 3*time.Second)))
				synctest.Wait()
				if p := get(t, api, "p").Status; p.Phase != corev1.PodRunning || conditionOf(&p, corev1.DisruptionTarget) == nil {
					t.Errorf("during the grace period: %s: %+v, want Running with DisruptionTarget", p.Phase, p.Conditions)
				}
				time.Sleep(6 * time.Second)
				synctest.Wait()
				if p := get(t, api, "p").Status; p.Phase != corev1.PodFailed || p.Reason != tc.reason || p.Message != tc.message {
					t.Errorf("after the grace period: %s %s %q, want Failed %s %q", p.Phase, p.Reason, p.Message, tc.reason, tc.message)
				}
				if soft := tc.hasPressure && tc.reason == "Evicted"; r.doneCalled.Load() != soft {
					t.Errorf("done was called: %v, want %v", r.doneCalled.Load(), soft)
				}
			})
		})
	}
}

// TestResumedEvictionHoldsMemoryUntilReleased checks that a pod whose eviction was resumed counts as terminating until the
// runtime has released its volumes.
func TestResumedEvictionHoldsMemoryUntilReleased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := fake.NewClientset(pod("p", func(p *corev1.Pod) { p.Annotations = map[string]string{simulated.StopSeconds: "4000"} }))
		a, stop := startAgent(t, api, func(*agent.Options) {})
		waitBriefly()
		a.Evict(agent.Eviction{Pod: "p", Reason: "Evicted", Grace: 100 * time.Second,
			Condition: &corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: corev1.PodReasonTerminationByKubelet}})
		time.Sleep(20 * time.Second)
		stop()
		var r fakeResumer
		var release func()
		_, stop = startAgent(t, api, func(o *agent.Options) {
			o.Pressure = func(string) agent.PressureManager { return &r }
			delayRelease(o, &release)
		})
		defer stop()
		time.Sleep(time.Minute)
		synctest.Wait()
		if p := get(t, api, "p").Status; p.Phase != corev1.PodFailed || r.doneCalled.Load() || release == nil {
			t.Fatalf("before the release: %s, done %v, want Failed, false", p.Phase, r.doneCalled.Load())
		}
		release()
		synctest.Wait()
		if !r.doneCalled.Load() {
			t.Error("done was not called after the release")
		}
	})
}

// TestShortEvictionIsNotAnnounced checks that the condition is not written before the final status
// if the grace period is short.
func TestShortEvictionIsNotAnnounced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := fake.NewClientset(pod("p", func(p *corev1.Pod) { p.Annotations = map[string]string{simulated.StopSeconds: "400"} }))
		a, stop := startAgent(t, api, func(*agent.Options) {})
		defer stop()
		waitBriefly()
		a.Evict(agent.Eviction{Pod: "p", Reason: "Evicted", Grace: time.Second,
			Condition: &corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: corev1.PodReasonTerminationByKubelet}})
		synctest.Wait()
		if p := get(t, api, "p").Status; p.Phase != corev1.PodRunning || conditionOf(&p, corev1.DisruptionTarget) != nil {
			t.Errorf("status %s: %+v, want Running without DisruptionTarget", p.Phase, p.Conditions)
		}
	})
}
