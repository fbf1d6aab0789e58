package pods

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"

	"github.com/berthproject/berth/agent/runtime"
	"github.com/berthproject/berth/engine/podlifecycle"
)

func TestPodLifecycle(t *testing.T) {
	h := newHarness(t)
	pod := testPod("web", "a", "b")
	h.admit(pod)
	h.waitForStates(pod, "a=running b=running")
	info, ok := h.runner.Pod("default", "web")
	a, found := info.Container("a")
	if !ok || !found || !a.Running || a.ID == "" {
		t.Fatalf("pod %+v, want a running container a with an ID", info)
	}
	if err := h.service.Log(a.ID, "stdout", "hello"); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(a.LogPath); err != nil || !strings.Contains(string(text), "hello") {
		t.Errorf("log %q, %v, want hello", text, err)
	}
	h.service.Exit("web", "a", 3, "")
	h.waitForStates(pod, "a=running#1 b=running") // the first restart is immediate
	if n := h.count("CreateContainer a"); n != 2 {
		t.Errorf("a was created %d times, want 2", n)
	}
	if n := h.count("RunPodSandbox web"); n != 1 {
		t.Errorf("%d sandboxes were created, want 1", n)
	}
	info, _ = h.runner.Pod("default", "web")
	if second, _ := info.Container("a"); second.Attempt != 1 || second.LogPath == a.LogPath {
		t.Errorf("second run %+v, want attempt 1 with its own log", second)
	}
	h.delete(pod, time.Minute)
	h.waitUntil("the pod is released", func() bool { return h.lifecycles[pod.UID].released })
	h.runner.Forget(pod.UID)
	h.waitUntilRemoved(pod)
}

// waitUntilRemoved waits until a pod and all of its resources are removed.
func (h *harness) waitUntilRemoved(pod *corev1.Pod) {
	h.t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for h.runner.lookup(pod.UID) != nil {
		if time.Now().After(deadline) {
			h.t.Fatalf("pod %s exists 20 s after Forget, want it removed; calls: %q", pod.Name, h.service.Calls())
		}
		time.Sleep(time.Millisecond)
	}
	if list, _ := h.service.ListContainers(h.t.Context(), nil); len(list) > 0 {
		h.t.Errorf("containers after the removal: %v, want none", list)
	}
	if list, _ := h.service.ListPodSandbox(h.t.Context(), nil); len(list) > 0 {
		h.t.Errorf("sandboxes after the removal: %v, want none", list)
	}
	for _, path := range []string{h.runner.podDir(pod.UID), LogDir(h.runner.opts.Logs, pod)} {
		if _, err := os.Stat(path); !os.IsNotExist(err) {
			h.t.Errorf("%s: %v, want it not to exist", path, err)
		}
	}
}

func TestContainersStartInOrder(t *testing.T) {
	h := newHarness(t)
	pod := testPod("web", "c", "b", "a")
	h.admit(pod)
	h.waitForStates(pod, "c=running b=running a=running")
	var started []string
	for _, c := range h.service.Calls() {
		if name, ok := strings.CutPrefix(c, "StartContainer "); ok {
			started = append(started, name)
		}
	}
	if !slices.Equal(started, []string{"c", "b", "a"}) {
		t.Errorf("started %v, want c, b, a", started)
	}
}

func TestFailuresAreReportedAndRetried(t *testing.T) {
	failure := status.Error(codes.Unknown, "failed")
	for name, tc := range map[string]struct {
		method, reason string
	}{
		"sandbox":   {method: "RunPodSandbox", reason: "ContainerCreating"},
		"image":     {method: "ImageStatus", reason: "ErrImagePull"},
		"container": {method: "CreateContainer", reason: "CreateContainerError"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			h.service.Fail(tc.method, failure)
			pod := testPod("web", "a")
			h.admit(pod)
			h.waitForStates(pod, "a=running")
			h.mu.Lock()
			defer h.mu.Unlock()
			if !slices.ContainsFunc(h.reports, func(r runtime.Report) bool {
				w, ok := r.Event.(podlifecycle.Waiting)
				return ok && w.Reason == tc.reason && strings.Contains(w.Message, "failed")
			}) {
				t.Errorf("reports %s, want one with reason %s", formatReports(h.reports), tc.reason)
			}
		})
	}
}

// TestFailuresBeforeInitContainers checks that the reason of a pod with init containers is
// PodInitializing until its sandbox is ready, as in the kubelet.
func TestFailuresBeforeInitContainers(t *testing.T) {
	h := newHarness(t)
	h.service.Fail("RunPodSandbox", status.Error(codes.Unknown, "failed"))
	pod := testPod("web", "a")
	pod.Spec.InitContainers = []corev1.Container{{Name: "i", Image: "image"}}
	h.admit(pod)
	h.waitUntil("the failure is reported", func() bool {
		return slices.ContainsFunc(h.reports, func(r runtime.Report) bool {
			w, ok := r.Event.(podlifecycle.Waiting)
			if ok && w.Reason != "PodInitializing" {
				t.Errorf("reason %s, want PodInitializing", w.Reason)
			}
			return ok
		})
	})
}

func TestWaitingContainerDoesNotBlockOthers(t *testing.T) {
	h := newHarness(t)
	h.service.Fail("CreateContainer", status.Error(codes.Unknown, "failed"))
	pod := testPod("web", "a", "b")
	h.admit(pod)
	h.waitForStates(pod, "a=running b=running")
	var order []string
	for _, c := range h.service.Calls() {
		if name, ok := strings.CutPrefix(c, "StartContainer "); ok {
			order = append(order, name)
		}
	}
	if !slices.Equal(order, []string{"b", "a"}) {
		t.Errorf("started %v, want b before a", order)
	}
}

func TestCommandNotFound(t *testing.T) {
	h := newHarness(t)
	h.service.Fail("StartContainer", status.Error(codes.Unknown, `exec: "nosuch": executable file not found in $PATH`))
	pod := testPod("web", "a")
	pod.Spec.RestartPolicy = corev1.RestartPolicyNever
	h.admit(pod)
	h.waitForStates(pod, "a=terminated(128 StartError)")
	h.waitUntil("the pod has failed", func() bool { return h.lifecycles[pod.UID].machine.Phase() == podlifecycle.Failed })
}

func TestDeleteWhileStarting(t *testing.T) {
	for _, method := range []string{"RunPodSandbox", "ImageStatus", "CreateContainer", "StartContainer"} {
		t.Run(method, func(t *testing.T) {
			h := newHarness(t)
			release := h.service.Block(method)
			pod := testPod("web", "a")
			h.admit(pod)
			h.delete(pod, time.Minute)
			release()
			h.waitUntil("the pod is released", func() bool { return h.lifecycles[pod.UID].released })
			h.runner.Forget(pod.UID)
			h.waitUntilRemoved(pod)
		})
	}
}

func TestContainerIgnoringSIGTERMIsKilled(t *testing.T) {
	h := newHarness(t)
	h.service.IgnoreSIGTERM("a")
	pod := testPod("web", "a")
	h.admit(pod)
	h.waitForStates(pod, "a=running")
	h.delete(pod, time.Second) // the minimum grace period is 2 s
	h.waitForStates(pod, "a=terminated(137 )")
}

func TestForceDeletedPodIsStoppedGracefully(t *testing.T) {
	h := newHarness(t)
	h.service.IgnoreSIGTERM("b")
	pod := testPod("web", "a", "b")
	h.admit(pod)
	h.waitForStates(pod, "a=running b=running")
	h.mu.Lock()
	delete(h.lifecycles, pod.UID)
	h.mu.Unlock()
	h.runner.Forget(pod.UID)
	h.waitUntilRemoved(pod)
	for _, name := range []string{"a", "b"} {
		if h.count("StopContainer(2s) "+name) != 1 {
			t.Errorf("calls %q, want one StopContainer(2s) of %s", h.service.Calls(), name)
		}
	}
}

func TestLostSandboxIsRecreated(t *testing.T) {
	h := newHarness(t)
	pod := testPod("web", "a", "b")
	h.admit(pod)
	h.waitForStates(pod, "a=running b=running")
	h.service.KillSandbox("web")
	h.waitForStates(pod, "a=running#1 b=running#1")
	if n := h.count("RunPodSandbox web"); n != 2 {
		t.Errorf("%d sandboxes were created, want 2", n)
	}
}

func TestIdlePodHasNoWorker(t *testing.T) {
	h := newHarness(t)
	pod := testPod("web", "a", "b")
	h.admit(pod)
	h.waitForStates(pod, "a=running b=running")
	p := h.runner.lookup(pod.UID)
	p.workers.Wait() // returns when the worker has returned
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.working || len(p.queue) > 0 {
		t.Errorf("a worker is running (%v) with queue length %d, want none", p.working, len(p.queue))
	}
}
