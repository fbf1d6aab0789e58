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
	g := newHarness(t)
	pod := testPod("web", "a", "b")
	g.admit(pod)
	g.waitForStates(pod, "a=up b=up")
	info, ok := g.runner.Pod("default", "web")
	a, found := info.Container("a")
	if !ok || !found || !a.Running || a.ID == "" {
		t.Fatalf("the Runner shows %+v", info)
	}
	if err := g.service.Log(a.ID, "stdout", "hello"); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(a.LogPath); err != nil || !strings.Contains(string(text), "hello") {
		t.Errorf("the log has %q, %v", text, err)
	}
	g.service.Exit("web", "a", 3, "")
	g.waitForStates(pod, "a=up#1 b=up") // the first restart is immediate
	if n := g.count("CreateContainer a"); n != 2 {
		t.Errorf("a was created %d times, want 2", n)
	}
	if n := g.count("RunPodSandbox web"); n != 1 {
		t.Errorf("%d sandboxes were created, want 1", n)
	}
	info, _ = g.runner.Pod("default", "web")
	if second, _ := info.Container("a"); second.Attempt != 1 || second.LogPath == a.LogPath {
		t.Errorf("the second run is %+v", second)
	}
	g.delete(pod, time.Minute)
	g.waitUntil("it is released", func() bool { return g.lifecycles[pod.UID].released })
	g.runner.Forget(pod.UID)
	g.waitUntilRemoved(pod)
}

// waitUntilRemoved waits until a pod and all of its resources are removed.
func (g *harness) waitUntilRemoved(pod *corev1.Pod) {
	g.t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for g.runner.lookup(pod.UID) != nil {
		if time.Now().After(deadline) {
			g.t.Fatalf("%s still exists; calls: %q", pod.Name, g.service.Calls())
		}
		time.Sleep(time.Millisecond)
	}
	if list, _ := g.service.ListContainers(g.t.Context(), nil); len(list) > 0 {
		g.t.Errorf("containers remain: %v", list)
	}
	if list, _ := g.service.ListPodSandbox(g.t.Context(), nil); len(list) > 0 {
		g.t.Errorf("sandboxes remain: %v", list)
	}
	for _, path := range []string{g.runner.podDir(pod.UID), LogDir(g.runner.opts.Logs, pod)} {
		if _, err := os.Stat(path); !os.IsNotExist(err) {
			g.t.Errorf("%s remains: %v", path, err)
		}
	}
}

func TestContainersStartInOrder(t *testing.T) {
	g := newHarness(t)
	pod := testPod("web", "c", "b", "a")
	g.admit(pod)
	g.waitForStates(pod, "c=up b=up a=up")
	var started []string
	for _, c := range g.service.Calls() {
		if name, ok := strings.CutPrefix(c, "StartContainer "); ok {
			started = append(started, name)
		}
	}
	if !slices.Equal(started, []string{"c", "b", "a"}) {
		t.Errorf("started %v", started)
	}
}

func TestFailuresAreReportedAndRetried(t *testing.T) {
	failure := status.Error(codes.Unknown, "failed")
	for name, tc := range map[string]struct {
		method, reason string
		more           []error
	}{
		"sandbox":   {method: "RunPodSandbox", reason: "ContainerCreating"},
		"image":     {method: "ImageStatus", reason: "ErrImagePull"},
		"container": {method: "CreateContainer", reason: "CreateContainerError"},
	} {
		t.Run(name, func(t *testing.T) {
			g := newHarness(t)
			g.service.Fail(tc.method, failure)
			pod := testPod("web", "a")
			g.admit(pod)
			g.waitForStates(pod, "a=up")
			g.mu.Lock()
			defer g.mu.Unlock()
			if !slices.ContainsFunc(g.reports, func(r runtime.Report) bool {
				w, ok := r.Event.(podlifecycle.Waiting)
				return ok && w.Reason == tc.reason && strings.Contains(w.Message, "failed")
			}) {
				t.Errorf("%s was not notified: %s", tc.reason, formatReports(g.reports))
			}
		})
	}
}

// As in the kubelet, the reason of a pod with init containers is PodInitializing until its sandbox is ready.
func TestFailuresBeforeInitContainers(t *testing.T) {
	g := newHarness(t)
	g.service.Fail("RunPodSandbox", status.Error(codes.Unknown, "failed"))
	pod := testPod("web", "a")
	pod.Spec.InitContainers = []corev1.Container{{Name: "i", Image: "image"}}
	g.admit(pod)
	g.waitUntil("the failure is reported", func() bool {
		return slices.ContainsFunc(g.reports, func(r runtime.Report) bool {
			w, ok := r.Event.(podlifecycle.Waiting)
			if ok && w.Reason != "PodInitializing" {
				t.Errorf("reason %s, want PodInitializing", w.Reason)
			}
			return ok
		})
	})
}

func TestWaitingContainerDoesNotBlockOthers(t *testing.T) {
	g := newHarness(t)
	g.service.Fail("CreateContainer", status.Error(codes.Unknown, "failed"))
	pod := testPod("web", "a", "b")
	g.admit(pod)
	g.waitForStates(pod, "a=up b=up")
	var order []string
	for _, c := range g.service.Calls() {
		if name, ok := strings.CutPrefix(c, "StartContainer "); ok {
			order = append(order, name)
		}
	}
	if !slices.Equal(order, []string{"b", "a"}) {
		t.Errorf("started %v: b should not have waited for a", order)
	}
}

func TestCommandNotFound(t *testing.T) {
	g := newHarness(t)
	g.service.Fail("StartContainer", status.Error(codes.Unknown, `exec: "nosuch": executable file not found in $PATH`))
	pod := testPod("web", "a")
	pod.Spec.RestartPolicy = corev1.RestartPolicyNever
	g.admit(pod)
	g.waitForStates(pod, "a=ended(128 StartError)")
	g.waitUntil("it has finished", func() bool { return g.lifecycles[pod.UID].machine.Phase() == podlifecycle.Failed })
}

func TestDeleteWhileStarting(t *testing.T) {
	for _, method := range []string{"RunPodSandbox", "ImageStatus", "CreateContainer", "StartContainer"} {
		t.Run(method, func(t *testing.T) {
			g := newHarness(t)
			release := g.service.Block(method)
			pod := testPod("web", "a")
			g.admit(pod)
			g.delete(pod, time.Minute)
			release()
			g.waitUntil("it is released", func() bool { return g.lifecycles[pod.UID].released })
			g.runner.Forget(pod.UID)
			g.waitUntilRemoved(pod)
		})
	}
}

func TestContainerIgnoringSIGTERMIsKilled(t *testing.T) {
	g := newHarness(t)
	g.service.IgnoreSIGTERM("a")
	pod := testPod("web", "a")
	g.admit(pod)
	g.waitForStates(pod, "a=up")
	g.delete(pod, time.Second) // the minimum grace period is 2 s
	g.waitForStates(pod, "a=ended(137 )")
}

func TestForceDeletedPodIsStoppedGracefully(t *testing.T) {
	g := newHarness(t)
	g.service.IgnoreSIGTERM("b")
	pod := testPod("web", "a", "b")
	g.admit(pod)
	g.waitForStates(pod, "a=up b=up")
	g.mu.Lock()
	delete(g.lifecycles, pod.UID)
	g.mu.Unlock()
	g.runner.Forget(pod.UID)
	g.waitUntilRemoved(pod)
	for _, name := range []string{"a", "b"} {
		if g.count("StopContainer(2s) "+name) != 1 {
			t.Errorf("%s was not called: %q", name, g.service.Calls())
		}
	}
}

func TestLostSandboxIsRecreated(t *testing.T) {
	g := newHarness(t)
	pod := testPod("web", "a", "b")
	g.admit(pod)
	g.waitForStates(pod, "a=up b=up")
	g.service.LoseSandbox("web")
	g.waitForStates(pod, "a=up#1 b=up#1")
	if n := g.count("RunPodSandbox web"); n != 2 {
		t.Errorf("%d sandboxes were created, want 2", n)
	}
}

func TestIdlePodHasNoWorker(t *testing.T) {
	g := newHarness(t)
	pod := testPod("web", "a", "b")
	g.admit(pod)
	g.waitForStates(pod, "a=up b=up")
	p := g.runner.lookup(pod.UID)
	p.workers.Wait() // returns when the worker has returned
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.working || len(p.queue) > 0 {
		t.Errorf("a worker is running, queue length %d", len(p.queue))
	}
}

func TestUserNamespaceIsRejected(t *testing.T) {
	g := newHarness(t)
	pod := testPod("web", "a")
	no := false
	pod.Spec.HostUsers = &no
	g.admit(pod)
	g.waitForStates(pod, "a=starting(RefusedByRuntime)")
	g.waitUntil("it is reported", func() bool {
		return slices.Contains(g.events, "web/ FailedCreatePodSandBox: Failed to create pod sandbox: hostUsers false: user namespaces are not supported")
	})
	if n := g.count("RunPodSandbox web"); n != 0 {
		t.Errorf("created %d sandboxes, want none", n)
	}
}
