package pods

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/berthproject/berth/agent/cgroup"
)

// TestRealChurn starts, runs and deletes pods while the agent is restarted and the runtime is
// killed. It checks that no pod is lost or started twice, and that no resource remains.
func TestRealChurn(t *testing.T) { forEachRuntime(t, realChurn) }

func realChurn(t *testing.T, r *realRuntime) {
	h := newRealHarness(t, nil, r)
	var pods []*corev1.Pod
	for i := range 8 {
		pod := realPod(fmt.Sprintf("p%d", i), map[string][]string{"a": {"-after=1h"}, "b": {"-exit=3", "-after=200ms"}})
		pod.Spec.RestartPolicy = corev1.RestartPolicyOnFailure
		pods = append(pods, pod)
		h.admit(pod)
		switch i {
		case 2, 5:
			h.restart()
		case 3:
			if err := r.kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, pod := range pods {
		h.waitUntil("a runs and b has been started again", func() bool {
			s := h.states(pod)
			return strings.Contains(s, "a=running ") && strings.Contains(s, "#")
		})
	}
	h.checkRunsOnce()
	if err := r.kill(); err != nil {
		t.Fatal(err)
	}
	for i, pod := range pods {
		h.delete(pod, 5*time.Second)
		if i == 4 {
			h.restart()
		}
	}
	for _, pod := range pods {
		h.delete(pod, 5*time.Second) // the API server repeats the deletion to a restarted agent
	}
	for _, pod := range pods {
		h.waitUntil("the pod is released", func() bool { return h.lifecycles[pod.UID].released })
		h.runner.Forget(pod.UID)
	}
	for _, pod := range pods {
		h.waitUntilRealPodRemoved(pod)
	}
	host, err := cgroup.Detect()
	if err != nil {
		t.Fatal(err)
	}
	for _, level := range qosCgroups(r.Cgroup) {
		groups, _ := host.Children(level)
		for _, c := range groups {
			if strings.Contains(c, "/pod") {
				t.Errorf("cgroup %s exists after the removal of all pods, want none", c)
			}
		}
	}
	if mounts, err := os.ReadFile("/proc/self/mountinfo"); err != nil || strings.Contains(string(mounts), h.opts.Root) {
		t.Errorf("mountinfo (error %v) has mounts in %s, want none:\n%s", err, h.opts.Root, mounts)
	}
}

// checkRunsOnce checks that no container runs twice.
func (h *harness) checkRunsOnce() {
	h.t.Helper()
	containers, err := h.opts.Service.ListContainers(h.t.Context(), &cri.ContainerFilter{State: &cri.ContainerStateValue{State: cri.ContainerState_CONTAINER_RUNNING}})
	if err != nil {
		h.t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, c := range containers {
		k := c.GetLabels()[podUIDLabel] + "/" + c.GetMetadata().GetName()
		if seen[k] {
			h.t.Errorf("container %s has two running instances, want one", k)
		}
		seen[k] = true
	}
}
