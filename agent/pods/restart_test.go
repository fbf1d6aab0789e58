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
	h := newHarness(t)
	pod := testPod("web", "a", "b")
	h.admit(pod)
	h.waitForStates(pod, "a=running b=running")
	h.restart()
	h.waitForStates(pod, "a=running b=running")
	h.service.Exit("web", "a", 1, "")
	h.waitForStates(pod, "a=running#1 b=running")
	for call, want := range map[string]int{"RunPodSandbox web": 1, "CreateContainer a": 2, "CreateContainer b": 1} {
		if n := h.count(call); n != want {
			t.Errorf("%s was called %d times, want %d", call, n, want)
		}
	}
}

func TestRestartFindsExitedContainers(t *testing.T) {
	h := newHarness(t)
	pod := testPod("job", "a", "b")
	pod.Spec.RestartPolicy = corev1.RestartPolicyNever
	h.admit(pod)
	h.waitForStates(pod, "a=running b=running")
	h.stop()
	h.service.Exit("job", "a", 0, "")
	h.restart()
	h.waitForStates(pod, "a=terminated(0 ) b=running")
	if n := h.count("CreateContainer a"); n != 1 {
		t.Errorf("a was created %d times, want once", n)
	}
}

// TestRestartCreatesNoDuplicates checks that a restart of the agent during any call that creates an
// object does not create the object twice.
func TestRestartCreatesNoDuplicates(t *testing.T) {
	for _, method := range []string{"RunPodSandbox", "CreateContainer", "StartContainer"} {
		for name, callErr := range map[string]error{"done": nil, "unknown outcome": status.Error(codes.Unavailable, "the connection broke")} {
			t.Run(method+" "+name, func(t *testing.T) {
				h := newHarness(t)
				release := h.service.Block(method)
				pod := testPod("web", "a")
				h.admit(pod)
				if callErr != nil {
					h.service.Fail(method, callErr)
				}
				release()
				h.restart()
				h.waitForStates(pod, "a=running")
				sandboxes, _ := h.service.ListPodSandbox(t.Context(), nil)
				containers, _ := h.service.ListContainers(t.Context(), nil)
				if len(sandboxes) != 1 || len(containers) != 1 {
					t.Errorf("got %d sandboxes and %d containers, want one each: %q", len(sandboxes), len(containers), h.service.Calls())
				}
			})
		}
	}
}

// TestSameAttemptStartsOnce checks that an existing container is not started again if the runtime is
// unavailable when the agent reads the existing containers.
func TestSameAttemptStartsOnce(t *testing.T) {
	h := newHarness(t)
	pod := testPod("web", "a")
	h.admit(pod)
	h.waitForStates(pod, "a=running")
	h.stop()
	h.service.Fail("Version", status.Error(codes.Unavailable, "unavailable"))
	h.restart()
	h.waitForStates(pod, "a=running")
	if n := h.count("CreateContainer a"); n != 1 {
		t.Errorf("a was created %d times, want once", n)
	}
}

func TestMissingContainerIsReportedExited(t *testing.T) {
	h := newHarness(t)
	pod := testPod("web", "a")
	pod.Spec.RestartPolicy = corev1.RestartPolicyNever
	h.mu.Lock()
	l := &lifecycle{pod: pod, machine: podlifecycle.Resume(podlifecycle.Spec{Containers: []podlifecycle.Container{{Name: "a"}}, RestartPolicy: podlifecycle.Never}, podlifecycle.Running,
		[]podlifecycle.Status{{Name: "a", State: podlifecycle.ContainerRunning, StartedAt: time.Now()}})}
	h.lifecycles[pod.UID] = l
	h.runner.Resume(pod, "a", podlifecycle.Status{Name: "a", State: podlifecycle.ContainerRunning})
	h.mu.Unlock()
	h.waitForStates(pod, "a=terminated(137 ContainerStatusUnknown)")
}

func TestRemoveOrphans(t *testing.T) {
	h := newHarness(t)
	deleted, existing := testPod("deleted", "a"), testPod("existing", "a")
	h.admit(deleted)
	h.admit(existing)
	h.waitForStates(deleted, "a=running")
	h.waitForStates(existing, "a=running")
	otherNode, err := h.service.RunPodSandbox(t.Context(), &cri.PodSandboxConfig{Metadata: &cri.PodSandboxMetadata{Name: "other-node", Uid: "x"},
		Labels: map[string]string{podUIDLabel: "x"}}, "")
	if err != nil {
		t.Fatal(err)
	}
	h.stop()
	delete(h.lifecycles, deleted.UID)
	orphanDir := filepath.Join(h.opts.Root, "pods", "uid-orphan")
	if err := os.MkdirAll(orphanDir, 0o755); err != nil {
		t.Fatal(err)
	}
	h.restart()
	h.runner.RemoveOrphans(map[types.UID]bool{existing.UID: true})
	for _, path := range []string{h.runner.podDir(deleted.UID), LogDir(h.runner.opts.Logs, deleted), orphanDir} {
		for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
			if _, err := os.Stat(path); os.IsNotExist(err) {
				break
			} else if time.Now().After(deadline) {
				t.Fatalf("%s exists 20 s after RemoveOrphans, want it removed", path)
			}
		}
	}
	remaining, _ := h.service.ListPodSandbox(t.Context(), nil)
	if len(remaining) != 2 || remaining[0].GetMetadata().GetName() != "existing" || remaining[1].GetId() != otherNode {
		t.Errorf("remaining sandboxes: %v; want those of the existing pod and of the other node", remaining)
	}
	h.waitForStates(existing, "a=running")
}

func TestRelistFindsExits(t *testing.T) {
	h := newHarness(t)
	pod := testPod("web", "a")
	h.admit(pod)
	h.waitForStates(pod, "a=running")
	h.service.Fail("Events", status.Error(codes.Unimplemented, "no events"), status.Error(codes.Unimplemented, "no events"), status.Error(codes.Unimplemented, "no events"))
	h.service.BreakEventStreams()
	h.service.Exit("web", "a", 1, "")
	h.waitForStates(pod, "a=running#1")
}

func TestExitReportedOnce(t *testing.T) {
	h := newHarness(t)
	pod := testPod("web", "a")
	pod.Spec.RestartPolicy = corev1.RestartPolicyNever
	h.admit(pod)
	h.waitForStates(pod, "a=running")
	p, _ := h.runner.Pod("default", "web")
	c, _ := p.Container("a")
	h.service.Exit("web", "a", 4, "")
	for range 5 {
		h.runner.handleEvent(runtime.ContainerEvent{Container: c.ID})
		h.runner.relist(t.Context())
	}
	h.delete(pod, time.Second)
	h.waitUntil("the pod is released", func() bool { return h.lifecycles[pod.UID].released })
	h.mu.Lock()
	defer h.mu.Unlock()
	n := 0
	for _, r := range h.reports {
		if _, ok := r.Event.(podlifecycle.Exited); ok {
			n++
		}
	}
	if n != 1 {
		t.Errorf("exit was reported %d times, want once: %s", n, formatReports(h.reports))
	}
}

// TestStopBeforeAdoption checks that the containers of a pod that is deleted before a restarted agent
// has adopted them are stopped.
func TestStopBeforeAdoption(t *testing.T) {
	h := newHarness(t)
	pod := testPod("web", "a", "b")
	h.admit(pod)
	h.waitForStates(pod, "a=running b=running")
	h.stop()
	release := h.service.Block("PodSandboxStatus")
	h.restart()
	h.delete(pod, time.Minute)
	release()
	h.waitUntil("all containers have exited", func() bool { return h.lifecycles[pod.UID].finished })
	for _, name := range []string{"a", "b"} {
		if n := h.count("StopContainer(24h0m0s) " + name); n != 1 {
			t.Errorf("%s received %d stop requests, want 1: %q", name, n, h.service.Calls())
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if got := h.states(pod); strings.Contains(got, "ContainerStatusUnknown") {
		t.Errorf("states %s, want the exit codes of the containers", got)
	}
}

func TestSlowRuntimeKeepsContainers(t *testing.T) {
	h := newHarness(t)
	pod := testPod("web", "a", "b")
	h.admit(pod)
	h.waitForStates(pod, "a=running b=running")
	h.stop()
	h.service.Fail("PodSandboxStatus", status.Error(codes.Unavailable, "unavailable"))
	h.restart()
	h.service.Exit("web", "a", 1, "")
	h.waitForStates(pod, "a=running#1 b=running")
	for call, want := range map[string]int{"RunPodSandbox web": 1, "CreateContainer b": 1, "RemovePodSandbox web": 0} {
		if n := h.count(call); n != want {
			t.Errorf("%s was called %d times, want %d: %q", call, n, want, h.service.Calls())
		}
	}
}

// TestContainerRestartRefreshesVolumes checks that the files of volumes are updated before a container starts again, and not before
// its first start, which follows their setup.
func TestContainerRestartRefreshesVolumes(t *testing.T) {
	h := newHarness(t)
	var created []int // calls of CreateContainer before each refresh
	h.volumes.refresh = func() { created = append(created, h.count("CreateContainer a")) }
	pod := testPod("web", "a")
	h.admit(pod)
	h.waitForStates(pod, "a=running")
	h.service.Exit("web", "a", 1, "")
	h.waitForStates(pod, "a=running#1")
	h.volumes.mu.Lock()
	defer h.volumes.mu.Unlock()
	if len(created) != 1 || created[0] != 1 {
		t.Errorf("refreshes after %v calls of CreateContainer, want one refresh after 1", created)
	}
}
