package pods

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/berthproject/berth/engine/podlifecycle"
)

// addEphemeral adds an ephemeral container to the pod and returns the changed pod.
func (h *harness) addEphemeral(pod *corev1.Pod, name, target string) *corev1.Pod {
	pod = pod.DeepCopy()
	pod.Spec.EphemeralContainers = append(pod.Spec.EphemeralContainers, corev1.EphemeralContainer{TargetContainerName: target,
		EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: name, Image: "busybox"}})
	h.runner.Update(pod)
	h.mu.Lock()
	defer h.mu.Unlock()
	l := h.lifecycles[pod.UID]
	l.pod = pod
	h.step(l, podlifecycle.AddEphemeral{Container: podlifecycle.Container{Name: name}})
	return pod
}

// ephemeralState returns the state of an ephemeral container. h.mu must be held.
func (h *harness) ephemeralState(pod *corev1.Pod, name string) podlifecycle.Status {
	for _, s := range h.lifecycles[pod.UID].machine.EphemeralStatuses() {
		if s.Name == name {
			return s
		}
	}
	return podlifecycle.Status{}
}

func TestEphemeralContainerJoinsTarget(t *testing.T) {
	h := newHarness(t)
	pod := testPod("web", "a")
	h.admit(pod)
	h.waitForStates(pod, "a=running")
	pod = h.addEphemeral(pod, "debug", "a")
	h.waitUntil("the ephemeral container runs", func() bool { return h.ephemeralState(pod, "debug").State == podlifecycle.ContainerRunning })
	containers, err := h.service.ListContainers(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]string{}
	for _, c := range containers {
		ids[c.GetMetadata().GetName()] = c.GetId()
	}
	n := h.service.Config(ids["debug"]).GetLinux().GetSecurityContext().GetNamespaceOptions()
	if n.GetPid() != cri.NamespaceMode_TARGET || n.GetTargetId() != ids["a"] {
		t.Errorf("namespaces %v, want the target %s", n, ids["a"])
	}
	h.service.Exit("web", "debug", 3, "")
	h.waitUntil("the ephemeral container has exited", func() bool { return h.ephemeralState(pod, "debug").State == podlifecycle.ContainerTerminated })
	if n := h.count("StartContainer debug"); n != 1 {
		t.Errorf("the ephemeral container was started %d times, want 1", n)
	}
}

// TestEphemeralContainerWaitsForVolumes checks that an ephemeral container starts after the volumes that only it uses
// are set up. Other containers do not wait for them.
func TestEphemeralContainerWaitsForVolumes(t *testing.T) {
	h := newHarness(t)
	pod := testPod("web", "a")
	h.admit(pod)
	h.waitForStates(pod, "a=running")
	h.volumes.mu.Lock()
	h.volumes.failures = []error{errors.New("no such claim")}
	h.volumes.mu.Unlock()
	h.service.Exit("web", "a", 1, "")
	h.waitForStates(pod, "a=running#1")
	pod = h.addEphemeral(pod, "debug", "")
	h.waitUntil("the ephemeral container runs", func() bool { return h.ephemeralState(pod, "debug").State == podlifecycle.ContainerRunning })
	h.mu.Lock()
	defer h.mu.Unlock()
	if !slices.Contains(h.events, "web/ FailedMount: no such claim") {
		t.Errorf("events %q, want the failure to set up the volume", h.events)
	}
	h.volumes.mu.Lock()
	defer h.volumes.mu.Unlock()
	if n := h.volumes.prepared[pod.UID]; n != 2 {
		t.Errorf("volumes were set up %d times, want 2: for the pod and for the ephemeral container", n)
	}
}

func TestEphemeralContainerWaitsForTarget(t *testing.T) {
	h := newHarness(t)
	pod := testPod("web", "a")
	pod.Spec.RestartPolicy = corev1.RestartPolicyNever
	h.admit(pod)
	h.waitForStates(pod, "a=running")
	pod = h.addEphemeral(pod, "debug", "missing")
	h.waitUntil("the ephemeral container waits", func() bool {
		s := h.ephemeralState(pod, "debug")
		return s.Reason == "CreateContainerConfigError" && strings.Contains(s.Message, `unable to find target container "missing"`)
	})
}
