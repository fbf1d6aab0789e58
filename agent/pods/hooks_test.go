package pods

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

func execHook(command ...string) *corev1.LifecycleHandler {
	return &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: command}}
}

func TestLifecycleHooks(t *testing.T) {
	g := newHarness(t)
	var ran []string
	g.service.OnExec(func(c *cri.ContainerStatus, command []string) (*cri.ExecSyncResponse, error) {
		ran = append(ran, strings.Join(command, " ")) // hooks run sequentially
		return &cri.ExecSyncResponse{}, nil
	})
	pod := testPod("web", "a", "b")
	pod.Spec.Containers[0].Lifecycle = &corev1.Lifecycle{PostStart: execHook("hello", "world"), PreStop: execHook("bye")}
	g.admit(pod)
	g.waitForStates(pod, "a=up b=up")
	g.delete(pod, 30*time.Second)
	g.waitUntil("it is released", func() bool { return g.lifecycles[pod.UID].released })
	if want := []string{"hello world", "bye"}; !slices.Equal(ran, want) {
		t.Errorf("ran %q, want %q", ran, want)
	}
}

func TestFailedPostStartHookKillsContainer(t *testing.T) {
	for name, exec := range map[string]func() (*cri.ExecSyncResponse, error){
		"code": func() (*cri.ExecSyncResponse, error) {
			return &cri.ExecSyncResponse{ExitCode: 2, Stderr: []byte("oh no")}, nil
		},
		"error": func() (*cri.ExecSyncResponse, error) { return nil, errors.New("oh no") },
	} {
		t.Run(name, func(t *testing.T) {
			g := newHarness(t)
			g.service.OnExec(func(*cri.ContainerStatus, []string) (*cri.ExecSyncResponse, error) { return exec() })
			pod := testPod("web", "a")
			pod.Spec.RestartPolicy = corev1.RestartPolicyNever
			pod.Spec.Containers[0].Lifecycle = &corev1.Lifecycle{PostStart: execHook("x")}
			g.admit(pod)
			g.waitForStates(pod, "a=ended(143 )")
			g.waitUntil("it is reported", func() bool {
				return slices.ContainsFunc(g.events, func(e string) bool {
					return strings.Contains(e, "web/a FailedPostStartHook: PostStartHook failed: ") && strings.Contains(e, "oh no")
				})
			})
		})
	}
}

func TestHookTimesOutWithGracePeriod(t *testing.T) {
	g := newHarness(t)
	blocked := make(chan struct{})
	t.Cleanup(func() { close(blocked) })
	g.service.OnExec(func(*cri.ContainerStatus, []string) (*cri.ExecSyncResponse, error) {
		<-blocked
		return nil, errors.New("never")
	})
	pod := testPod("web", "a")
	pod.Spec.Containers[0].Lifecycle = &corev1.Lifecycle{PreStop: execHook("sleep")}
	g.admit(pod)
	g.waitForStates(pod, "a=up")
	g.delete(pod, time.Second)
	g.waitForStates(pod, "a=ended(143 )")
}

func TestSleepHooks(t *testing.T) {
	g := newHarness(t)
	pod := testPod("web", "a")
	pod.Spec.Containers[0].Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: 3600}}}
	g.admit(pod)
	g.waitForStates(pod, "a=up")
	g.delete(pod, time.Second)
	g.waitForStates(pod, "a=ended(143 )") // the grace period is shorter than the sleep
}
