package agent_test

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	ktesting "k8s.io/client-go/testing"

	"github.com/berthproject/berth/agent"
	"github.com/berthproject/berth/agent/runtime"
	"github.com/berthproject/berth/agent/runtime/simulated"
	"github.com/berthproject/berth/engine/podlifecycle"
)

// scriptedRuntime is a runtime with fixed results.
type scriptedRuntime struct {
	*simulated.Runtime
	report func(runtime.Report)

	mu        sync.Mutex
	existing  map[types.UID][]podlifecycle.Status
	boundUIDs map[types.UID]bool
	starts    []podlifecycle.Start
	resumed   []string
}

func (s *scriptedRuntime) ExistingContainers(p *corev1.Pod) []podlifecycle.Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.existing[p.UID]
}

func (s *scriptedRuntime) RemoveOrphans(existing map[types.UID]bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.boundUIDs = existing
}

func (s *scriptedRuntime) calls() (starts []podlifecycle.Start, resumed []string, boundUIDs map[types.UID]bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.starts), slices.Clone(s.resumed), s.boundUIDs
}

func (s *scriptedRuntime) Start(p *corev1.Pod, container string, attempt int32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.starts = append(s.starts, podlifecycle.Start{Container: container, Attempt: attempt})
}

func (s *scriptedRuntime) Resume(_ *corev1.Pod, container string, _ podlifecycle.Status) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.resumed = append(s.resumed, container)
}

func (s *scriptedRuntime) StartProbe(*corev1.Pod, string, podlifecycle.Probes, int32) {}

// event reports an event of pod p.
func (s *scriptedRuntime) event(e podlifecycle.Event) {
	s.report(runtime.Report{Pod: "p", Event: e})
	waitBriefly()
}

// startScriptedAgent runs an agent for the real node n0 with a scripted runtime.
func startScriptedAgent(t *testing.T, api *fake.Clientset, s *scriptedRuntime, change ...func(*agent.Options)) (stop func()) {
	t.Helper()
	_, stop = startAgent(t, api, func(o *agent.Options) {
		n := agent.NewNode("n0", resource.MustParse("8"), resource.MustParse("16Gi"))
		n.Status.NodeInfo.ContainerRuntimeVersion = "containerd://1.6"
		n.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "192.0.2.7"}}
		o.Nodes = []*corev1.Node{n}
		o.Runtime = func(report func(runtime.Report)) runtime.Runtime {
			s.Runtime, s.report = simulated.New(report), report
			return s
		}
		for _, c := range change {
			c(o)
		}
	})
	waitBriefly()
	return stop
}

// TestRejectedPodStaysRejectedAfterRestart checks that a restart does not change the status of a
// rejected pod, which lists no containers.
func TestRejectedPodStaysRejectedAfterRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		before := metav1.NewTime(time.Now().Add(-time.Hour))
		stored := corev1.PodStatus{Phase: corev1.PodFailed, Reason: "OutOfcpu", Message: "not enough cpu", StartTime: &before, QOSClass: corev1.PodQOSBestEffort,
			Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse, LastTransitionTime: before}}}
		api := fake.NewClientset(pod("p", func(p *corev1.Pod) { p.Status = *stored.DeepCopy() }))
		var s scriptedRuntime
		defer startScriptedAgent(t, api, &s)()
		got := get(t, api, "p").Status
		if got.Reason != stored.Reason || len(got.ContainerStatuses) > 0 || len(got.Conditions) != 1 || !got.Conditions[0].LastTransitionTime.Time.Equal(before.Time.Truncate(0)) {
			t.Errorf("status %+v, want %+v", got, stored)
		}
	})
}

func TestStatusFromRuntimeReports(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := fake.NewClientset(pod("p", func(p *corev1.Pod) {
			p.Spec.RestartPolicy = corev1.RestartPolicyAlways
			p.Spec.Containers[0].ReadinessProbe = &corev1.Probe{}
			p.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: "example.com/open"}}
		}))
		var s scriptedRuntime
		defer startScriptedAgent(t, api, &s)()
		s.event(podlifecycle.Waiting{Container: "c", Reason: "ErrImagePull", Message: "no such image"})
		p := get(t, api, "p").Status
		if w := p.ContainerStatuses[0].State.Waiting; p.Phase != corev1.PodPending || w == nil || w.Reason != "ErrImagePull" || w.Message != "no such image" {
			t.Errorf("phase %s, state %+v, want Pending with ErrImagePull", p.Phase, p.ContainerStatuses[0].State)
		}
		if c := conditionOf(&p, corev1.PodReadyToStartContainers); c.Status != corev1.ConditionFalse {
			t.Error("PodReadyToStartContainers is true without an address and a container, want false")
		}
		s.report(runtime.Report{Pod: "p", Addresses: []string{"10.0.0.9", "fd00::9"}, Container: &runtime.ContainerInfo{Name: "c", ID: "containerd://1", Image: "docker.io/app:1", ImageID: "sha256:a"}})
		s.event(podlifecycle.Started{Container: "c"})
		p = get(t, api, "p").Status
		if c := p.ContainerStatuses[0]; p.PodIP != "10.0.0.9" || len(p.PodIPs) != 2 || p.HostIP != "192.0.2.7" || c.ContainerID != "containerd://1" || c.ImageID != "sha256:a" || c.Image != "docker.io/app:1" || !*c.Started || c.Ready {
			t.Errorf("status %+v, want the reported addresses and container, started but not ready", p)
		}
		checkNotReady(t, &p, "ContainersNotReady", "containers with unready status: [c]")
		s.event(podlifecycle.ProbeResult{Container: "c", Probe: podlifecycle.Readiness, OK: true})
		p = get(t, api, "p").Status
		checkNotReady(t, &p, "ReadinessGatesNotReady", `corresponding condition of pod readiness gate "example.com/open" does not exist.`)
		s.event(podlifecycle.Exited{Container: "c", Code: 137, Reason: "OOMKilled", Message: "last words"})
		if c := get(t, api, "p").Status.ContainerStatuses[0]; c.State.Terminated == nil || c.State.Terminated.Reason != "OOMKilled" || c.State.Terminated.ContainerID != "containerd://1" || c.RestartCount != 0 {
			t.Errorf("after the termination: %+v, want OOMKilled and no restart", c)
		}
		s.report(runtime.Report{Pod: "p", Container: &runtime.ContainerInfo{Name: "c", ID: "containerd://2"}})
		s.event(podlifecycle.Started{Container: "c"})
		s.event(podlifecycle.Exited{Container: "c", Code: 1})
		c := get(t, api, "p").Status.ContainerStatuses[0]
		if w := c.State.Waiting; w == nil || w.Reason != "CrashLoopBackOff" || w.Message != "back-off 10s restarting failed container=c pod=p_default(p)" {
			t.Errorf("state %+v, want CrashLoopBackOff", c.State)
		}
		if last := c.LastTerminationState.Terminated; c.RestartCount != 1 || last == nil || last.ContainerID != "containerd://2" || last.Reason != "Error" {
			t.Errorf("container %+v, want one restart and the termination of containerd://2", c)
		}
		time.Sleep(10 * time.Second) // the restart is requested but not reported
		if c := get(t, api, "p").Status.ContainerStatuses[0]; c.RestartCount != 1 || c.State.Waiting == nil || c.State.Waiting.Reason != "CrashLoopBackOff" {
			t.Errorf("while the container starts: %+v, want CrashLoopBackOff", c)
		}
		s.event(podlifecycle.Started{Container: "c"})
		if c := get(t, api, "p").Status.ContainerStatuses[0]; c.LastTerminationState.Terminated.ExitCode != 1 || c.RestartCount != 2 {
			t.Errorf("container %+v, want two restarts and last exit code 1", c)
		}
	})
}

// checkNotReady checks reason and message of an unready pod.
func checkNotReady(t *testing.T, s *corev1.PodStatus, reason, message string) {
	t.Helper()
	if c := conditionOf(s, corev1.PodReady); c == nil || c.Status != corev1.ConditionFalse || c.Reason != reason || c.Message != message {
		t.Errorf("condition Ready %+v, want %s: %s", c, reason, message)
	}
}

// TestDeletionBeforeStartFailsPod checks that a pod deleted before its containers start fails, so that
// controllers that wait for its final phase continue.
func TestDeletionBeforeStartFailsPod(t *testing.T) {
	for name, tc := range map[string]struct {
		init []corev1.Container
		want string // state of the container
	}{
		"no init containers": {nil, "ContainerStatusUnknown"},
		"not initialized":    {[]corev1.Container{{Name: "i"}}, "PodInitializing"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				api := fake.NewClientset(pod("p", func(p *corev1.Pod) { p.Spec.InitContainers = tc.init }))
				api.PrependReactor("delete", "pods", func(ktesting.Action) (bool, k8sruntime.Object, error) { return true, nil, nil })
				var s scriptedRuntime
				defer startScriptedAgent(t, api, &s)()
				terminate(t, api, 30)
				waitBriefly()
				for _, c := range []string{"c", "i"} {
					s.event(podlifecycle.Exited{Container: c, Code: 137, Reason: "ContainerStatusUnknown"})
				}
				p := get(t, api, "p").Status
				if c := p.ContainerStatuses[0].State; p.Phase != corev1.PodFailed || stateReason(&c) != tc.want {
					t.Errorf("phase %s, container %+v, want Failed with %s", p.Phase, c, tc.want)
				}
			})
		})
	}
}

func TestRunningInitContainerIsNotReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		always := corev1.ContainerRestartPolicyAlways
		requests := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("250m")}
		limits := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("500m")}
		api := fake.NewClientset(pod("p", func(p *corev1.Pod) {
			p.Spec.InitContainers = []corev1.Container{{Name: "s", RestartPolicy: &always}, {Name: "i", Resources: corev1.ResourceRequirements{Requests: requests, Limits: limits}}}
		}))
		var s scriptedRuntime
		defer startScriptedAgent(t, api, &s)()
		for _, c := range []string{"s", "i"} {
			s.report(runtime.Report{Pod: "p", Container: &runtime.ContainerInfo{Name: c, ID: "containerd://" + c}})
			s.event(podlifecycle.Started{Container: c})
		}
		p := get(t, api, "p").Status
		if c := conditionOf(&p, corev1.PodInitialized); c.Message != "containers with incomplete status: [i]" {
			t.Errorf("condition %+v, want container i incomplete", c)
		}
		sidecar, i, c := p.InitContainerStatuses[0], p.InitContainerStatuses[1], p.ContainerStatuses[0]
		if !sidecar.Ready || i.Ready || !*i.Started {
			t.Errorf("sidecar %+v, init container %+v, want only the sidecar ready", sidecar, i)
		}
		if i.Resources == nil || !equality.Semantic.DeepEqual(*i.Resources, corev1.ResourceRequirements{Requests: requests, Limits: limits}) ||
			!equality.Semantic.DeepEqual(i.AllocatedResources, requests) {
			t.Errorf("resources %+v, allocated %v, want those of the specification", i.Resources, i.AllocatedResources)
		}
		if sidecar.Resources == nil || sidecar.AllocatedResources != nil || c.Resources != nil {
			t.Errorf("sidecar without requests: resources %+v, allocated %v, container that is not created: resources %+v, want empty, none, none", sidecar.Resources, sidecar.AllocatedResources, c.Resources)
		}
		s.event(podlifecycle.Exited{Container: "i"})
		p = get(t, api, "p").Status
		if c := conditionOf(&p, corev1.PodInitialized); c.Status != corev1.ConditionTrue || !p.InitContainerStatuses[1].Ready {
			t.Errorf("condition %+v, init container %+v, want Initialized and ready", c, p.InitContainerStatuses[1])
		}
	})
}

func stateReason(s *corev1.ContainerState) string {
	switch {
	case s.Terminated != nil:
		return s.Terminated.Reason
	case s.Waiting != nil:
		return s.Waiting.Reason
	}
	return ""
}

// TestContainersAreRestored checks that containers that the runtime reports take precedence over the
// last status.
func TestContainersAreRestored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := metav1.Now()
		api := fake.NewClientset(pod("p", func(p *corev1.Pod) {
			p.Spec.RestartPolicy = corev1.RestartPolicyAlways
			p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: "d"}, corev1.Container{Name: "e"})
			p.Status = corev1.PodStatus{Phase: corev1.PodPending, StartTime: &now, ContainerStatuses: []corev1.ContainerStatus{
				{Name: "c", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}}},
				{Name: "d", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}}},
				{Name: "e", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}}}}}
		}))
		s := scriptedRuntime{existing: map[types.UID][]podlifecycle.Status{"p": {
			{Name: "c", State: podlifecycle.ContainerRunning, StartedAt: now.Time},
			{Name: "d", State: podlifecycle.ContainerTerminated, Exit: podlifecycle.Exit{Code: 3, StartedAt: now.Time, FinishedAt: now.Time}, Restarts: 1}}}}
		defer startScriptedAgent(t, api, &s)()
		starts, resumed, boundUIDs := s.calls()
		if len(resumed) != 1 || resumed[0] != "c" || !boundUIDs["p"] {
			t.Errorf("resumed %v, bound pods %v, want c and p", resumed, boundUIDs)
		}
		if want := (podlifecycle.Start{Container: "e"}); len(starts) != 1 || starts[0] != want {
			t.Errorf("starts %v, want %v", starts, want)
		}
		p := get(t, api, "p").Status
		if p.ContainerStatuses[0].State.Running == nil || p.ContainerStatuses[1].State.Waiting == nil || p.ContainerStatuses[1].State.Waiting.Reason != "CrashLoopBackOff" {
			t.Errorf("container statuses %+v, want c running and d in CrashLoopBackOff", p.ContainerStatuses)
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if starts, _, _ = s.calls(); len(starts) != 2 || starts[1] != (podlifecycle.Start{Container: "d", Attempt: 2}) {
			t.Errorf("starts %v, want a third attempt of d", starts)
		}
	})
}

func TestNodeStatusKeepsFieldsOfOtherClients(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := fake.NewClientset(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n0", Labels: map[string]string{"other": "1"}},
			Spec: corev1.NodeSpec{Taints: []corev1.Taint{{Key: "other", Effect: corev1.TaintEffectNoSchedule}}},
			Status: corev1.NodeStatus{Capacity: corev1.ResourceList{"example.com/x": resource.MustParse("4")}, Allocatable: corev1.ResourceList{"example.com/x": resource.MustParse("4")},
				Conditions: []corev1.NodeCondition{{Type: "Other", Status: corev1.ConditionTrue}}}})
		var s scriptedRuntime
		readyErr := errors.New("container runtime is down")
		defer startScriptedAgent(t, api, &s, func(o *agent.Options) {
			o.Nodes[0].Spec.Taints = []corev1.Taint{{Key: "agent", Effect: corev1.TaintEffectNoSchedule}}
			o.Nodes[0].Status.Allocatable = agent.Allocatable(o.Nodes[0].Status.Capacity, corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("500m")})
			o.Ready = func(string) error { return readyErr }
			o.Images = func(string) []corev1.ContainerImage {
				return []corev1.ContainerImage{{Names: []string{"app:1"}, SizeBytes: 7}}
			}
		})()
		n, err := api.CoreV1().Nodes().Get(t.Context(), "n0", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		x, cpu := n.Status.Allocatable["example.com/x"], n.Status.Allocatable[corev1.ResourceCPU]
		if x.String() != "4" || cpu.String() != "7500m" || n.Labels["other"] != "1" || n.Labels[corev1.LabelHostname] != "n0" {
			t.Errorf("allocatable %v, labels %v, want those of both clients", n.Status.Allocatable, n.Labels)
		}
		if len(n.Spec.Taints) != 1 || n.Spec.Taints[0].Key != "other" {
			t.Errorf("taints %v, want only that of the other client: the agent must not taint a registered node", n.Spec.Taints)
		}
		if len(n.Status.Images) != 1 || n.Status.NodeInfo.ContainerRuntimeVersion != "containerd://1.6" {
			t.Errorf("images %v, runtime %s, want app:1 and containerd", n.Status.Images, n.Status.NodeInfo.ContainerRuntimeVersion)
		}
		if got, want := nodeConditions(t, api), "MemoryPressure=False DiskPressure=False PIDPressure=False Ready=False Other=True"; got != want {
			t.Errorf("conditions %s, want %s", got, want)
		}
		// Resources that other clients manage are not over-allocated.
		requestX := func(p *corev1.Pod) {
			p.Spec.Containers[0].Resources.Requests = corev1.ResourceList{"example.com/x": resource.MustParse("3")}
		}
		create(t, api, pod("p", requestX))
		waitBriefly()
		create(t, api, pod("q", requestX))
		waitBriefly()
		if p := get(t, api, "q").Status; p.Reason != "OutOfexample.com/x" {
			t.Errorf("status %s %s, want OutOfexample.com/x", p.Phase, p.Reason)
		}
	})
}
