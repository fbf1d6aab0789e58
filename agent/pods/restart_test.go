package pods

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/berthproject/berth/agent/runtime"
	"github.com/berthproject/berth/engine/podlifecycle"
)

func TestRestartFindsRunningContainers(t *testing.T) {
	g := newHarness(t)
	pod := testPod("web", "a", "b")
	g.admit(pod)
	g.waitForStates(pod, "a=up b=up")
	g.restart()
	g.waitForStates(pod, "a=up b=up")
	g.service.Exit("web", "a", 1, "")
	g.waitForStates(pod, "a=up#1 b=up")
	for call, want := range map[string]int{"RunPodSandbox web": 1, "CreateContainer a": 2, "CreateContainer b": 1} {
		if n := g.count(call); n != want {
			t.Errorf("%s was called %d times, want %d", call, n, want)
		}
	}
}

func TestRestartFindsExitedContainers(t *testing.T) {
	g := newHarness(t)
	pod := testPod("job", "a", "b")
	pod.Spec.RestartPolicy = corev1.RestartPolicyNever
	g.admit(pod)
	g.waitForStates(pod, "a=up b=up")
	g.stop()
	g.service.Exit("job", "a", 0, "")
	g.restart()
	g.waitForStates(pod, "a=ended(0 ) b=up")
	if n := g.count("CreateContainer a"); n != 1 {
		t.Errorf("a was created %d times, want once", n)
	}
}

// TestRestartCreatesNoDuplicates stops the agent at each call that creates something.
func TestRestartCreatesNoDuplicates(t *testing.T) {
	for _, method := range []string{"RunPodSandbox", "CreateContainer", "StartContainer"} {
		for name, callErr := range map[string]error{"done": nil, "in doubt": status.Error(codes.Unavailable, "the connection broke")} {
			t.Run(method+" "+name, func(t *testing.T) {
				g := newHarness(t)
				release := g.service.Block(method)
				pod := testPod("web", "a")
				g.admit(pod)
				if callErr != nil {
					g.service.Fail(method, callErr)
				}
				release()
				g.restart()
				g.waitForStates(pod, "a=up")
				sandboxes, _ := g.service.ListPodSandbox(t.Context(), nil)
				containers, _ := g.service.ListContainers(t.Context(), nil)
				if len(sandboxes) != 1 || len(containers) != 1 {
					t.Errorf("got %d sandboxes and %d containers, want one each: %q", len(sandboxes), len(containers), g.service.Calls())
				}
			})
		}
	}
}

// TestSameAttemptStartsOnce makes the runtime unavailable when the agent reads the existing
// containers, so the agent starts the pod from the beginning.
func TestSameAttemptStartsOnce(t *testing.T) {
	g := newHarness(t)
	pod := testPod("web", "a")
	g.admit(pod)
	g.waitForStates(pod, "a=up")
	g.stop()
	g.service.Fail("Version", status.Error(codes.Unavailable, "unavailable"))
	g.restart()
	g.waitForStates(pod, "a=up")
	if n := g.count("CreateContainer a"); n != 1 {
		t.Errorf("a was created %d times, want once", n)
	}
}

func TestMissingContainerIsReportedExited(t *testing.T) {
	g := newHarness(t)
	pod := testPod("web", "a")
	pod.Spec.RestartPolicy = corev1.RestartPolicyNever
	g.mu.Lock()
	l := &lifecycle{pod: pod, machine: podlifecycle.Resume(podlifecycle.Spec{Containers: []podlifecycle.Container{{Name: "a"}}, RestartPolicy: podlifecycle.Never}, podlifecycle.Running,
		[]podlifecycle.Status{{Name: "a", State: podlifecycle.ContainerRunning, StartedAt: time.Now()}})}
	g.lifecycles[pod.UID] = l
	g.runner.Resume(pod, "a", podlifecycle.Status{Name: "a", State: podlifecycle.ContainerRunning})
	g.mu.Unlock()
	g.waitForStates(pod, "a=ended(137 ContainerStatusUnknown)")
}

func TestRemoveOrphans(t *testing.T) {
	g := newHarness(t)
	deleted, existing := testPod("deleted", "a"), testPod("existing", "a")
	g.admit(deleted)
	g.admit(existing)
	g.waitForStates(deleted, "a=up")
	g.waitForStates(existing, "a=up")
	otherNode, err := g.service.RunPodSandbox(t.Context(), &cri.PodSandboxConfig{Metadata: &cri.PodSandboxMetadata{Name: "foreign", Uid: "x"},
		Labels: map[string]string{podUIDLabel: "x"}}, "")
	if err != nil {
		t.Fatal(err)
	}
	g.stop()
	delete(g.lifecycles, deleted.UID)
	orphanDir := filepath.Join(g.opts.Root, "pods", "uid-lost")
	if err := os.MkdirAll(orphanDir, 0o755); err != nil {
		t.Fatal(err)
	}
	g.restart()
	g.runner.RemoveOrphans(map[types.UID]bool{existing.UID: true})
	for _, path := range []string{g.runner.podDir(deleted.UID), LogDir(g.runner.opts.Logs, deleted), orphanDir} {
		for end := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
			if _, err := os.Stat(path); os.IsNotExist(err) {
				break
			} else if time.Now().After(end) {
				t.Fatalf("%s remains", path)
			}
		}
	}
	remaining, _ := g.service.ListPodSandbox(t.Context(), nil)
	if len(remaining) != 2 || remaining[0].GetMetadata().GetName() != "existing" || remaining[1].GetId() != otherNode {
		t.Errorf("remaining sandboxes: %v; want those of the existing pod and of the other node", remaining)
	}
	g.waitForStates(existing, "a=up")
}

func TestRelistFindsExits(t *testing.T) {
	g := newHarness(t)
	pod := testPod("web", "a")
	g.admit(pod)
	g.waitForStates(pod, "a=up")
	g.service.Fail("Events", status.Error(codes.Unimplemented, "no events"), status.Error(codes.Unimplemented, "no events"), status.Error(codes.Unimplemented, "no events"))
	g.service.BreakEventStreams()
	g.service.Exit("web", "a", 1, "")
	g.waitForStates(pod, "a=up#1")
}

func TestExitReportedOnce(t *testing.T) {
	g := newHarness(t)
	pod := testPod("web", "a")
	pod.Spec.RestartPolicy = corev1.RestartPolicyNever
	g.admit(pod)
	g.waitForStates(pod, "a=up")
	p, _ := g.runner.Pod("default", "web")
	c, _ := p.Container("a")
	g.service.Exit("web", "a", 4, "")
	for range 5 {
		g.runner.handleEvent(runtime.ContainerEvent{Container: c.ID})
		g.runner.relist(t.Context())
	}
	g.delete(pod, time.Second)
	g.waitUntil("it is released", func() bool { return g.lifecycles[pod.UID].released })
	g.mu.Lock()
	defer g.mu.Unlock()
	n := 0
	for _, r := range g.reports {
		if _, ok := r.Event.(podlifecycle.Exited); ok {
			n++
		}
	}
	if n != 1 {
		t.Errorf("exit was reported %d times: %s", n, formatReports(g.reports))
	}
}

// TestStopBeforeAdoption deletes a pod while a restarted agent is adopting its containers.
func TestStopBeforeAdoption(t *testing.T) {
	g := newHarness(t)
	pod := testPod("web", "a", "b")
	g.admit(pod)
	g.waitForStates(pod, "a=up b=up")
	g.stop()
	release := g.service.Block("PodSandboxStatus")
	g.restart()
	g.delete(pod, time.Minute)
	release()
	g.waitUntil("all has ended", func() bool { return g.lifecycles[pod.UID].finished })
	for _, name := range []string{"a", "b"} {
		if n := g.count("StopContainer(24h0m0s) " + name); n != 1 {
			t.Errorf("%s received %d stop requests, want 1: %q", name, n, g.service.Calls())
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if got := g.states(pod); strings.Contains(got, "ContainerStatusUnknown") {
		t.Errorf("states are %s: exits were not detected", got)
	}
}

func TestSlowRuntimeKeepsContainers(t *testing.T) {
	g := newHarness(t)
	pod := testPod("web", "a", "b")
	g.admit(pod)
	g.waitForStates(pod, "a=up b=up")
	g.stop()
	g.service.Fail("PodSandboxStatus", status.Error(codes.Unavailable, "unavailable"))
	g.restart()
	g.service.Exit("web", "a", 1, "")
	g.waitForStates(pod, "a=up#1 b=up")
	for call, want := range map[string]int{"RunPodSandbox web": 1, "CreateContainer b": 1, "RemovePodSandbox web": 0} {
		if n := g.count(call); n != want {
			t.Errorf("%s was called %d times, want %d: %q", call, n, want, g.service.Calls())
		}
	}
}
