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

// TestRealChurn starts, runs and ends pods while the agent is restarted and the runtime is
// killed. No pod is lost or started twice, and nothing is left.
func TestRealChurn(t *testing.T) { onEach(t, realChurn) }

func realChurn(t *testing.T, r *realParts) {
	g := newRealHarness(t, nil, r)
	var pods []*corev1.Pod
	for i := range 8 {
		pod := realPod(fmt.Sprintf("p%d", i), map[string][]string{"a": {"-after=1h"}, "b": {"-exit=3", "-after=200ms"}})
		pod.Spec.RestartPolicy = corev1.RestartPolicyOnFailure
		pods = append(pods, pod)
		g.admit(pod)
		switch i {
		case 2, 5:
			g.restart()
		case 3:
			if err := r.kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, pod := range pods {
		g.waitUntil("a runs and b has been started again", func() bool {
			s := g.states(pod)
			return strings.Contains(s, "a=up ") && strings.Contains(s, "#")
		})
	}
	g.checkRunsOnce()
	if err := r.kill(); err != nil {
		t.Fatal(err)
	}
	for i, pod := range pods {
		g.delete(pod, 5*time.Second)
		if i == 4 {
			g.restart()
		}
	}
	for _, pod := range pods {
		g.delete(pod, 5*time.Second) // the API server repeats the deletion to a restarted agent
	}
	for _, pod := range pods {
		g.waitUntil("it is released", func() bool { return g.lifecycles[pod.UID].released })
		g.runner.Forget(pod.UID)
	}
	for _, pod := range pods {
		g.waitUntilRealPodRemoved(pod)
	}
	host, err := cgroup.Detect()
	if err != nil {
		t.Fatal(err)
	}
	for _, level := range qosCgroups(r.Cgroup) {
		groups, _ := host.Children(level)
		for _, c := range groups {
			if strings.Contains(c, "/pod") {
				t.Errorf("cgroup %s remains", c)
			}
		}
	}
	if mounts, err := os.ReadFile("/proc/self/mountinfo"); err != nil || strings.Contains(string(mounts), g.opts.Root) {
		t.Errorf("mounts remain in %s: %v", g.opts.Root, err)
	}
}

// checkRunsOnce checks that no container runs twice.
func (g *harness) checkRunsOnce() {
	g.t.Helper()
	containers, err := g.opts.Service.ListContainers(g.t.Context(), &cri.ContainerFilter{State: &cri.ContainerStateValue{State: cri.ContainerState_CONTAINER_RUNNING}})
	if err != nil {
		g.t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, c := range containers {
		k := c.GetLabels()[podUIDLabel] + "/" + c.GetMetadata().GetName()
		if seen[k] {
			g.t.Errorf("%s has two running instances", k)
		}
		seen[k] = true
	}
}
