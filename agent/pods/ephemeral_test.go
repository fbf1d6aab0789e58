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

// debug adds an ephemeral container to the pod and returns the changed pod.
func (g *harness) debug(pod *corev1.Pod, name, target string) *corev1.Pod {
	pod = pod.DeepCopy()
	pod.Spec.EphemeralContainers = append(pod.Spec.EphemeralContainers, corev1.EphemeralContainer{TargetContainerName: target,
		EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: name, Image: "busybox"}})
	g.runner.Update(pod)
	g.mu.Lock()
	defer g.mu.Unlock()
	l := g.lifecycles[pod.UID]
	l.pod = pod
	g.step(l, podlifecycle.AddEphemeral{Container: podlifecycle.Container{Name: name}})
	return pod
}

// ephemeralState returns the state of an ephemeral container. g.mu must be held.
func (g *harness) ephemeralState(pod *corev1.Pod, name string) podlifecycle.Status {
	for _, s := range g.lifecycles[pod.UID].machine.EphemeralStatuses() {
		if s.Name == name {
			return s
		}
	}
	return podlifecycle.Status{}
}

func TestEphemeralContainerJoinsTarget(t *testing.T) {
	g := newHarness(t)
	pod := testPod("web", "a")
	g.admit(pod)
	g.waitForStates(pod, "a=up")
	pod = g.debug(pod, "debug", "a")
	g.waitUntil("it runs", func() bool { return g.ephemeralState(pod, "debug").State == podlifecycle.ContainerRunning })
	containers, err := g.service.ListContainers(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]string{}
	for _, c := range containers {
		ids[c.GetMetadata().GetName()] = c.GetId()
	}
	n := g.service.Config(ids["debug"]).GetLinux().GetSecurityContext().GetNamespaceOptions()
	if n.GetPid() != cri.NamespaceMode_TARGET || n.GetTargetId() != ids["a"] {
		t.Errorf("namespaces %v, want the target %s", n, ids["a"])
	}
	g.service.Exit("web", "debug", 3, "")
	g.waitUntil("it has exited", func() bool { return g.ephemeralState(pod, "debug").State == podlifecycle.ContainerTerminated })
	if n := g.count("StartContainer debug"); n != 1 {
		t.Errorf("started %d times", n)
	}
}

// The volumes that only an ephemeral container uses are set up before it starts. Other containers do not
// wait for them.
func TestEphemeralContainerWaitsForVolumes(t *testing.T) {
	g := newHarness(t)
	pod := testPod("web", "a")
	g.admit(pod)
	g.waitForStates(pod, "a=up")
	g.volumes.mu.Lock()
	g.volumes.fail = []error{errors.New("no such claim")}
	g.volumes.mu.Unlock()
	g.service.Exit("web", "a", 1, "")
	g.waitForStates(pod, "a=up#1")
	pod = g.debug(pod, "debug", "")
	g.waitUntil("it runs", func() bool { return g.ephemeralState(pod, "debug").State == podlifecycle.ContainerRunning })
	g.mu.Lock()
	defer g.mu.Unlock()
	if !slices.Contains(g.events, "web/ FailedMount: no such claim") {
		t.Errorf("events %q, want the failure to set up the volume", g.events)
	}
	g.volumes.mu.Lock()
	defer g.volumes.mu.Unlock()
	if n := g.volumes.prepared[pod.UID]; n != 2 {
		t.Errorf("volumes were set up %d times, want once for the pod and once for the ephemeral container", n)
	}
}

func TestEphemeralContainerWaitsForTarget(t *testing.T) {
	g := newHarness(t)
	pod := testPod("web", "a")
	pod.Spec.RestartPolicy = corev1.RestartPolicyNever
	g.admit(pod)
	g.waitForStates(pod, "a=up")
	pod = g.debug(pod, "debug", "missing")
	g.waitUntil("it waits", func() bool {
		s := g.ephemeralState(pod, "debug")
		return s.Reason == "CreateContainerConfigError" && strings.Contains(s.Message, `unable to find target container "missing"`)
	})
}
