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
	h := newHarness(t)
	var commands []string
	h.service.OnExec(func(c *cri.ContainerStatus, command []string) (*cri.ExecSyncResponse, error) {
		commands = append(commands, strings.Join(command, " ")) // hooks run sequentially
		return &cri.ExecSyncResponse{}, nil
	})
	pod := testPod("web", "a", "b")
	pod.Spec.Containers[0].Lifecycle = &corev1.Lifecycle{PostStart: execHook("hello", "world"), PreStop: execHook("bye")}
	h.admit(pod)
	h.waitForStates(pod, "a=running b=running")
	h.delete(pod, 30*time.Second)
	h.waitUntil("the pod is released", func() bool { return h.lifecycles[pod.UID].released })
	if want := []string{"hello world", "bye"}; !slices.Equal(commands, want) {
		t.Errorf("commands %q, want %q", commands, want)
	}
}

func TestFailedPostStartHookKillsContainer(t *testing.T) {
	for name, exec := range map[string]func() (*cri.ExecSyncResponse, error){
		"code": func() (*cri.ExecSyncResponse, error) {
			return &cri.ExecSyncResponse{ExitCode: 2, Stderr: []byte("hook failed")}, nil
		},
		"error": func() (*cri.ExecSyncResponse, error) { return nil, errors.New("hook failed") },
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			h.service.OnExec(func(*cri.ContainerStatus, []string) (*cri.ExecSyncResponse, error) { return exec() })
			pod := testPod("web", "a")
			pod.Spec.RestartPolicy = corev1.RestartPolicyNever
			pod.Spec.Containers[0].Lifecycle = &corev1.Lifecycle{PostStart: execHook("x")}
			h.admit(pod)
			h.waitForStates(pod, "a=terminated(143 )")
			h.waitUntil("the failure is reported", func() bool {
				return slices.ContainsFunc(h.events, func(e string) bool {
					return strings.Contains(e, "web/a FailedPostStartHook: PostStartHook failed: ") && strings.Contains(e, "hook failed")
				})
			})
		})
	}
}

// TestHookTimesOutWithGracePeriod checks that a hung preStop hook does not delay the stop signal beyond
// the grace period.
func TestHookTimesOutWithGracePeriod(t *testing.T) {
	h := newHarness(t)
	blocked := make(chan struct{})
	t.Cleanup(func() { close(blocked) })
	h.service.OnExec(func(*cri.ContainerStatus, []string) (*cri.ExecSyncResponse, error) {
		<-blocked
		return nil, errors.New("never")
	})
	pod := testPod("web", "a")
	pod.Spec.Containers[0].Lifecycle = &corev1.Lifecycle{PreStop: execHook("sleep")}
	h.admit(pod)
	h.waitForStates(pod, "a=running")
	h.delete(pod, time.Second)
	h.waitForStates(pod, "a=terminated(143 )")
}

// TestSleepHookEndsWithGracePeriod checks that a preStop sleep that is longer than the grace period does
// not delay the stop signal beyond it.
func TestSleepHookEndsWithGracePeriod(t *testing.T) {
	h := newHarness(t)
	pod := testPod("web", "a")
	pod.Spec.Containers[0].Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: 3600}}}
	h.admit(pod)
	h.waitForStates(pod, "a=running")
	h.delete(pod, time.Second)
	h.waitForStates(pod, "a=terminated(143 )")
}
