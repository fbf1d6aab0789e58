package pods

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/berthproject/berth/agent/probe"
	"github.com/berthproject/berth/engine/podlifecycle"
)

// prober is a Prober that records its calls.
type prober struct {
	mu         sync.Mutex
	calls      []string
	onChange   func()
	lastTarget probe.Target
}

func (p *prober) record(format string, args ...any) {
	p.mu.Lock()
	p.calls = append(p.calls, fmt.Sprintf(format, args...))
	p.mu.Unlock()
	go p.onChange() // without the pod's lock
}

func (p *prober) Start(t probe.Target) {
	p.mu.Lock()
	p.lastTarget = t
	p.mu.Unlock()
	p.record("%v %s#%d %v", t.Probe, t.Container.Name, t.Attempt, t.ID != "" && t.Address != "" && !t.Started.IsZero())
}

func (p *prober) Stop(_ types.UID, container string, kind podlifecycle.Probes) {
	p.record("stop %v %s", kind, container)
}

func (p *prober) hasCall(call string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Contains(p.calls, call)
}

func newProbeHarness(t *testing.T) (*harness, *prober) {
	p := &prober{}
	h := newHarness(t, func(o *Options) { o.Prober = p })
	p.onChange = func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.changed.Broadcast()
	}
	return h, p
}

func TestProbesFollowContainer(t *testing.T) {
	h, p := newProbeHarness(t)
	pod := testPod("web", "a")
	exec := &corev1.Probe{ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"ok", "$(X)"}}}}
	pod.Spec.Containers[0].ReadinessProbe, pod.Spec.Containers[0].Env = exec, []corev1.EnvVar{{Name: "X", Value: "1"}}
	h.admit(pod)
	h.waitUntil("the container is probed", func() bool { return p.hasCall("Readiness a#0 true") })
	p.mu.Lock()
	command := p.lastTarget.Container.ReadinessProbe.Exec.Command
	p.mu.Unlock()
	if !slices.Equal(command, []string{"ok", "1"}) {
		t.Errorf("command of the probe: %q, want ok 1", command)
	}
	ready := func() bool {
		_, cs := h.lifecycles[pod.UID].machine.Statuses()
		return cs[0].Ready
	}
	h.runner.HandleProbeResult(probe.Result{Pod: pod.UID, Container: "a", Probe: podlifecycle.Readiness, Attempt: 7, OK: true}) // of another run
	h.runner.HandleProbeResult(probe.Result{Pod: pod.UID, Container: "a", Probe: podlifecycle.Readiness, OK: true})
	h.waitUntil("the container is ready", ready)
	h.service.Exit("web", "a", 1, "")
	h.waitUntil("the next run of the container is probed", func() bool { return p.hasCall("Readiness a#1 true") })
	h.delete(pod, time.Second)
	h.waitUntil("the pod is released and its probe stopped", func() bool { return h.lifecycles[pod.UID].released && p.hasCall("stop Readiness a") })
}

// TestProbesResumeAfterRestart checks that a probe that is requested before the container is adopted
// starts after the adoption.
func TestProbesResumeAfterRestart(t *testing.T) {
	h, p := newProbeHarness(t)
	pod := testPod("web", "a")
	pod.Spec.Containers[0].ReadinessProbe = &corev1.Probe{}
	hookRuns := make(chan string, 8)
	h.service.OnExec(func(c *cri.ContainerStatus, command []string) (*cri.ExecSyncResponse, error) {
		hookRuns <- c.Metadata.Name
		return &cri.ExecSyncResponse{}, nil
	})
	pod.Spec.Containers[0].Lifecycle = &corev1.Lifecycle{PreStop: execHook("bye")}
	h.admit(pod)
	h.waitUntil("the container is probed", func() bool { return p.hasCall("Readiness a#0 true") })
	h.stop()
	p.mu.Lock()
	p.calls = nil
	p.mu.Unlock()
	release := func() {}
	h.onRecovered = func() { release = h.service.Block("ContainerStatus") }
	h.restart()
	h.delete(pod, time.Minute)
	release()
	h.waitUntil("the preStop hook has run and the pod is released", func() bool { return h.lifecycles[pod.UID].released && len(hookRuns) == 1 })
	if !p.hasCall("Readiness a#0 true") || p.hasCall("Readiness a#0 false") {
		t.Errorf("prober calls %q, want a readiness probe with an address", p.calls)
	}
}
