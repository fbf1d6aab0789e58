package pods

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/berthproject/berth/agent/cgroup"
	"github.com/berthproject/berth/agent/runtime"
	"github.com/berthproject/berth/engine/podlifecycle"
)

// limitCgroups records changes of the limits of pod cgroups, in order with the calls of a runtime.
type limitCgroups struct {
	oomCgroups
	mu   sync.Mutex
	used int64
	log  func(string)
}

func (c *limitCgroups) SetLimits(group string, l cgroup.Limits) error {
	if strings.HasPrefix(path.Base(group), "pod") {
		c.log(fmt.Sprintf("pod memory=%d shares=%d quota=%d", l.Memory, l.CPUShares, l.CPUQuota))
	}
	return nil
}

func (c *limitCgroups) WorkingSet(string) (int64, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.used, nil
}

func (c *limitCgroups) setUsed(n int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.used = n
}

// withLimits returns a copy of the pod whose containers have these limits and requests of CPU and
// memory.
func withLimits(pod *corev1.Pod, limits ...string) *corev1.Pod {
	pod = pod.DeepCopy()
	for i, l := range limits {
		cpu, memory, _ := strings.Cut(l, " ")
		list := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory)}
		pod.Spec.Containers[i].Resources = corev1.ResourceRequirements{Requests: list, Limits: list}
	}
	return pod
}

// newResizeHarness returns a harness that runs a pod with containers a and b.
func newResizeHarness(t *testing.T, change func(*corev1.Pod)) (*harness, *limitCgroups, *corev1.Pod) {
	groups := &limitCgroups{}
	h := newHarness(t, func(o *Options) { o.Cgroups = groups })
	groups.log = h.service.Record
	pod := withLimits(testPod("web", "a", "b"), "1 100", "1 100")
	if change != nil {
		change(pod)
	}
	h.admit(pod)
	h.waitForStates(pod, "a=running b=running")
	return h, groups, pod
}

// resize resizes the pod and returns the changes of limits in order.
func (h *harness) resize(from, to *corev1.Pod) []string {
	h.t.Helper()
	before := len(h.service.Calls())
	h.runner.Resize(to, runtime.SpecResources(from))
	h.waitUntil("the pod is resized", func() bool {
		return slices.ContainsFunc(h.reports, func(r runtime.Report) bool { return r.Resize != nil && r.Resize.Target == to && r.Resize.Error == "" })
	})
	return h.service.Calls()[before:]
}

// TestResizeOrder checks that the limits of the pod are never below the sum of its containers' limits:
// they grow first and shrink last.
func TestResizeOrder(t *testing.T) {
	for name, tc := range map[string]struct {
		to   []string
		want []string
	}{
		"grows": {[]string{"1 200", "1 100"}, []string{"pod memory=300 shares=0 quota=0", "UpdateContainerResources a memory=200 shares=0 quota=0"}},
		"shrinks": {[]string{"500m 100", "1 100"}, []string{"UpdateContainerResources a memory=0 shares=512 quota=50000",
			"pod memory=0 shares=1536 quota=150000"}},
		"smaller container first": {[]string{"1 150", "1 50"}, []string{"UpdateContainerResources b memory=50 shares=0 quota=0",
			"UpdateContainerResources a memory=150 shares=0 quota=0"}},
		"both resources": {[]string{"2 50", "1 100"}, []string{"UpdateContainerResources a memory=50 shares=0 quota=0", "pod memory=150 shares=0 quota=0",
			"pod memory=0 shares=3072 quota=300000", "UpdateContainerResources a memory=0 shares=2048 quota=200000"}},
	} {
		t.Run(name, func(t *testing.T) {
			h, _, pod := newResizeHarness(t, nil)
			if got := h.resize(pod, withLimits(pod, tc.to...)); !slices.Equal(got, tc.want) {
				t.Errorf("calls %q, want %q", got, tc.want)
			}
		})
	}
}

func TestResizeSkipsContainersThatRestart(t *testing.T) {
	h, _, pod := newResizeHarness(t, func(p *corev1.Pod) {
		p.Spec.Containers[0].ResizePolicy = []corev1.ContainerResizePolicy{{ResourceName: corev1.ResourceMemory, RestartPolicy: corev1.RestartContainer}}
	})
	got := h.resize(pod, withLimits(pod, "2 200", "1 200"))
	for _, call := range got {
		if strings.HasPrefix(call, "UpdateContainerResources a") {
			t.Errorf("calls %q, want none for a", got)
		}
	}
}

// TestResizeBelowMemoryUsage checks that a resize to a limit below the usage fails until memory is
// freed.
func TestResizeBelowMemoryUsage(t *testing.T) {
	h, groups, pod := newResizeHarness(t, nil)
	groups.setUsed(180)
	to := withLimits(pod, "1 50", "1 100")
	h.runner.Resize(to, runtime.SpecResources(pod))
	const want = "attempting to set pod memory limit (150) below current usage (180)"
	h.waitUntil("the resize fails", func() bool {
		return slices.ContainsFunc(h.reports, func(r runtime.Report) bool { return r.Resize != nil && r.Resize.Error == want })
	})
	groups.setUsed(10)
	h.waitUntil("the pod is resized", func() bool {
		return slices.ContainsFunc(h.reports, func(r runtime.Report) bool {
			if r.Resize == nil || r.Resize.Error != "" {
				return false
			}
			limit := r.Resize.Applied.Containers["a"].Limits[corev1.ResourceMemory]
			return limit.Value() == 50
		})
	})
}

// TestRestartDuringResize checks that the result of a resize has the resources of a container that has
// restarted in the meantime.
func TestRestartDuringResize(t *testing.T) {
	h, groups, pod := newResizeHarness(t, func(p *corev1.Pod) {
		p.Spec.Containers[1].ResizePolicy = []corev1.ContainerResizePolicy{{ResourceName: corev1.ResourceCPU, RestartPolicy: corev1.RestartContainer}}
	})
	groups.setUsed(180)
	to := withLimits(pod, "1 50", "2 100")
	h.runner.Update(to)
	h.runner.Resize(to, runtime.SpecResources(pod))
	h.waitUntil("the resize fails", func() bool {
		return slices.ContainsFunc(h.reports, func(r runtime.Report) bool { return r.Resize != nil && r.Resize.Error != "" })
	})
	h.mu.Lock()
	l := h.lifecycles[pod.UID]
	l.pod = to
	h.step(l, podlifecycle.RestartContainer{Container: "b", Resize: true})
	h.mu.Unlock()
	h.waitForStates(to, "a=running b=running#1")
	groups.setUsed(10)
	h.waitUntil("the pod is resized", func() bool {
		return slices.ContainsFunc(h.reports, func(r runtime.Report) bool { return r.Resize != nil && r.Resize.Error == "" })
	})
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, r := range h.reports {
		if r.Resize != nil && r.Resize.Error == "" && !r.Resize.Applied.Equal(runtime.SpecResources(to)) {
			t.Errorf("applied resources %v, want those of the specification", r.Resize.Applied)
		}
	}
}

// TestStartedReportsResources checks that a container reports the resources that it was created with.
func TestStartedReportsResources(t *testing.T) {
	h, _, pod := newResizeHarness(t, nil)
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, r := range h.reports {
		if r.Resources != nil && runtime.ResourceChanged(*r.Resources, pod.Spec.Containers[0].Resources, corev1.ResourceMemory) {
			t.Errorf("resources %v, want %v", r.Resources, pod.Spec.Containers[0].Resources)
		}
	}
	if !slices.ContainsFunc(h.reports, func(r runtime.Report) bool { return r.Resources != nil }) {
		t.Errorf("no report has resources, want one for each container: %s", formatReports(h.reports))
	}
}
