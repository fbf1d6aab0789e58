package agent_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/klog/v2"

	"github.com/berthproject/berth/agent"
	"github.com/berthproject/berth/agent/runtime"
	"github.com/berthproject/berth/agent/runtime/simulated"
	"github.com/berthproject/berth/engine/shutdown"
)

// fakePressure is a PressureManager with fixed results.
type fakePressure struct {
	rejection  atomic.Pointer[agent.Rejection]
	conditions atomic.Pointer[[]corev1.NodeCondition]
}

func (p *fakePressure) Admit(*corev1.Pod) *agent.Rejection { return p.rejection.Load() }
func (p *fakePressure) Conditions() []corev1.NodeCondition {
	if c := p.conditions.Load(); c != nil {
		return *c
	}
	return nil
}

// startAgent runs an agent for n0 with options changed by change.
func startAgent(t *testing.T, api *fake.Clientset, change func(*agent.Options)) (a *agent.Agent, stop func()) {
	t.Helper()
	o := agent.Options{Client: api, Nodes: []*corev1.Node{agent.NewNode("n0", resource.MustParse("8"), resource.MustParse("16Gi"))}, Log: klog.Background(),
		Runtime: func(report func(runtime.Report)) runtime.Runtime { return simulated.New(report) }}
	change(&o)
	a, err := agent.New(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- a.Run(ctx) }()
	return a, func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// TestEvictionTime checks that DisruptionTarget has the time of the eviction, not of the status write.
func TestEvictionTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := fake.NewClientset(pod("p", func(*corev1.Pod) {}))
		a, stop := startAgent(t, api, func(*agent.Options) {})
		defer stop()
		waitBriefly()
		evicted := metav1.NewTime(time.Now().Add(-3 * time.Second).Truncate(time.Second))
		a.Evict(agent.Eviction{Pod: "p", Reason: "Evicted", Message: "The node was low on resource: memory. ", Immediate: true,
			Condition: &corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: corev1.PodReasonTerminationByKubelet, LastTransitionTime: evicted}})
		waitBriefly()
		for _, c := range get(t, api, "p").Status.Conditions {
			if c.Type == corev1.DisruptionTarget {
				if !c.LastTransitionTime.Equal(&evicted) {
					t.Errorf("transition time %v, want %v", c.LastTransitionTime, evicted)
				}
				return
			}
		}
		t.Error("no condition DisruptionTarget, want one")
	})
}

func TestEvictedPodFailsWhenTerminated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := fake.NewClientset(pod("p", func(p *corev1.Pod) { p.Annotations = map[string]string{simulated.StopSeconds: "20"} }))
		a, stop := startAgent(t, api, func(*agent.Options) {})
		defer stop()
		waitBriefly()
		var doneCalled atomic.Bool
		a.Evict(agent.Eviction{Pod: "p", Reason: "Evicted", Message: "The node was low on resource: memory. ", Grace: 10 * time.Second,
			Condition: &corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: corev1.PodReasonTerminationByKubelet},
			Done:      func() { doneCalled.Store(true) }})
		waitBriefly()
		if p := get(t, api, "p").Status; p.Phase != corev1.PodRunning || doneCalled.Load() || len(a.Pods("n0")) != 1 {
			t.Errorf("while terminating: %s, done %v, %d pods, want Running, false, 1", p.Phase, doneCalled.Load(), len(a.Pods("n0")))
		}
		time.Sleep(5 * time.Second)
		waitBriefly()
		p := get(t, api, "p").Status
		if p.Phase != corev1.PodFailed || p.Reason != "Evicted" || p.Message != "The node was low on resource: memory. " || conditionOf(&p, corev1.DisruptionTarget) == nil {
			t.Errorf("status %s %s %q %v, want Failed Evicted with DisruptionTarget", p.Phase, p.Reason, p.Message, p.Conditions)
		}
		if s := p.ContainerStatuses[0].State.Terminated; s == nil || s.ExitCode != 137 {
			t.Errorf("container state %+v, want exit code 137", p.ContainerStatuses[0].State)
		}
		if !doneCalled.Load() || len(a.Pods("n0")) != 0 {
			t.Errorf("after the termination: done %v, %d pods, want true, 0", doneCalled.Load(), len(a.Pods("n0")))
		}
		doneCalled.Store(false)
		a.Evict(agent.Eviction{Pod: "p", Reason: "Repeated", Done: func() { doneCalled.Store(true) }})
		waitBriefly()
		if p := get(t, api, "p").Status; !doneCalled.Load() || p.Reason != "Evicted" {
			t.Errorf("Evict of a terminated pod: done %v, reason %s, want true, Evicted", doneCalled.Load(), p.Reason)
		}
	})
}

// delayRelease makes the runtime report that it has released a pod only when *release, which it sets, is called.
func delayRelease(o *agent.Options, release *func()) {
	o.Runtime = func(report func(runtime.Report)) runtime.Runtime {
		return simulated.New(func(r runtime.Report) {
			if r.Released {
				*release = func() { report(r) }
				return
			}
			report(r)
		})
	}
}

// TestEvictedPodHoldsMemoryUntilReleased checks that a pod that is evicted for memory counts as terminating until the
// runtime has released its volumes.
func TestEvictedPodHoldsMemoryUntilReleased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := fake.NewClientset(pod("p", func(*corev1.Pod) {}))
		var release func() // reports what the runtime has released
		a, stop := startAgent(t, api, func(o *agent.Options) { delayRelease(o, &release) })
		defer stop()
		waitBriefly()
		var doneCalled atomic.Bool
		a.Evict(agent.Eviction{Pod: "p", Reason: "Evicted", Immediate: true, UntilReleased: true, Done: func() { doneCalled.Store(true) }})
		time.Sleep(time.Second)
		synctest.Wait()
		if p := get(t, api, "p").Status; p.Phase != corev1.PodFailed || doneCalled.Load() || len(a.Pods("n0")) != 1 {
			t.Errorf("before the release: %s, done %v, %d pods, want Failed, false, 1", p.Phase, doneCalled.Load(), len(a.Pods("n0")))
		}
		if release == nil {
			t.Fatal("the runtime has not released the pod")
		}
		release()
		synctest.Wait()
		if !doneCalled.Load() || len(a.Pods("n0")) != 0 {
			t.Errorf("after the release: done %v, %d pods, want true, 0", doneCalled.Load(), len(a.Pods("n0")))
		}
	})
}

func TestImmediateEvictionKillsContainers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := fake.NewClientset(pod("p", func(p *corev1.Pod) { p.Annotations = map[string]string{simulated.StopSeconds: "400"} }))
		a, stop := startAgent(t, api, func(*agent.Options) {})
		defer stop()
		waitBriefly()
		a.Evict(agent.Eviction{Pod: "p", Reason: "Evicted", Immediate: true})
		time.Sleep(time.Second)
		synctest.Wait()
		if p := get(t, api, "p").Status; p.Phase != corev1.PodFailed {
			t.Errorf("phase %s, want Failed", p.Phase)
		}
	})
}

func TestPressureRejectsPodsAndSetsConditions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := fake.NewClientset(pod("existing"))
		var pressure fakePressure
		a, stop := startAgent(t, api, func(o *agent.Options) { o.Pressure = func(string) agent.PressureManager { return &pressure } })
		defer stop()
		waitBriefly()
		since := metav1.NewTime(time.Now().Truncate(time.Second))
		pressure.rejection.Store(&agent.Rejection{Reason: "Evicted", Message: "The node had condition: [MemoryPressure]. "})
		pressure.conditions.Store(&[]corev1.NodeCondition{
			{Type: corev1.NodeMemoryPressure, Status: corev1.ConditionTrue, Reason: "KubeletHasInsufficientMemory", LastTransitionTime: since},
			{Type: "OutOfDisk", Status: corev1.ConditionTrue, Reason: "KubeletOutOfDisk", LastTransitionTime: since}})
		a.Report("n0")
		create(t, api, pod("p"))
		waitBriefly()
		if p := get(t, api, "p").Status; p.Phase != corev1.PodFailed || p.Reason != "Evicted" || p.Message != "Pod was rejected: The node had condition: [MemoryPressure]. " {
			t.Errorf("status %s %s %q, want Failed Evicted", p.Phase, p.Reason, p.Message)
		}
		if p := get(t, api, "existing").Status; p.Phase != corev1.PodRunning {
			t.Errorf("the existing pod is %s, want Running", p.Phase)
		}
		if got, want := nodeConditions(t, api), "MemoryPressure=True DiskPressure=False PIDPressure=False OutOfDisk=True Ready=True"; got != want {
			t.Errorf("conditions %s, want %s", got, want)
		}
		pressure.conditions.Store(nil)
		a.Report("n0")
		waitBriefly()
		if got, want := nodeConditions(t, api), "MemoryPressure=False DiskPressure=False PIDPressure=False Ready=True"; got != want {
			t.Errorf("conditions %s, want %s", got, want)
		}
	})
}

func nodeConditions(t *testing.T, api *fake.Clientset) (out string) {
	t.Helper()
	n, err := api.CoreV1().Nodes().Get(t.Context(), "n0", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range n.Status.Conditions {
		if i > 0 {
			out += " "
		}
		out += string(c.Type) + "=" + string(c.Status)
	}
	return out
}

func TestShutdownEndsPodsByPriority(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := func(p *corev1.Pod) { p.Annotations = map[string]string{simulated.StopSeconds: "400"} }
		api := fake.NewClientset(pod("a", slow), pod("system", withCriticalPriority))
		a, stop := startAgent(t, api, func(o *agent.Options) {
			o.Shutdown = agent.Shutdown(shutdown.DefaultClasses(30*time.Second, 10*time.Second))
		})
		defer stop()
		waitBriefly()
		start := time.Now()
		var duration atomic.Int64
		go func() {
			if err := a.Shutdown(t.Context(), "n0"); err != nil {
				t.Error(err)
			}
			duration.Store(int64(time.Since(start)))
		}()
		time.Sleep(10 * time.Second)
		create(t, api, pod("late"))
		waitBriefly()
		for name, want := range map[types.UID]string{"a": "Running", "system": "Running", "late": "Failed"} {
			if p := get(t, api, string(name)).Status; string(p.Phase) != want {
				t.Errorf("after 15 s: %s is %s %s, want %s", name, p.Phase, p.Reason, want)
			}
		}
		if got, want := nodeConditions(t, api), "MemoryPressure=False DiskPressure=False PIDPressure=False Ready=False"; got != want {
			t.Errorf("conditions %s, want %s", got, want)
		}
		time.Sleep(20 * time.Second)
		synctest.Wait()
		for _, name := range []string{"a", "system"} {
			if p := get(t, api, name).Status; p.Phase != corev1.PodFailed || p.Reason != "Terminated" || conditionOf(&p, corev1.DisruptionTarget) == nil {
				t.Errorf("after the shutdown: %s is %s %s, want Failed Terminated", name, p.Phase, p.Reason)
			}
		}
		if d := time.Duration(duration.Load()); d < 20*time.Second || d > 22*time.Second {
			t.Errorf("shutdown took %v, want 20 s to 22 s", d)
		}
		if p := get(t, api, "late").Status; p.Reason != "NodeShutdown" {
			t.Errorf("pod created during the shutdown: reason %s, want NodeShutdown", p.Reason)
		}
	})
}
