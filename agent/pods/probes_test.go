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

// prober records its calls.
type prober struct {
	mu       sync.Mutex
	reports  []string
	onChange func()
	last     probe.Target
}

func (p *prober) record(format string, args ...any) {
	p.mu.Lock()
	p.reports = append(p.reports, fmt.Sprintf(format, args...))
	p.mu.Unlock()
	go p.onChange() // without the pod's lock
}

func (p *prober) Start(t probe.Target) {
	p.mu.Lock()
	p.last = t
	p.mu.Unlock()
	p.record("%v %s#%d %v", t.Probe, t.Container.Name, t.Attempt, t.ID != "" && t.Address != "" && !t.Started.IsZero())
}

func (p *prober) Stop(_ types.UID, container string, kind podlifecycle.Probes) {
	p.record("no %v %s", kind, container)
}

func (p *prober) has(report string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Contains(p.reports, report)
}

func newProbeHarness(t *testing.T) (*harness, *prober) {
	p := &prober{}
	g := newHarness(t, func(o *Options) { o.Prober = p })
	p.onChange = func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.changed.Broadcast()
	}
	return g, p
}

func TestProbesFollowContainer(t *testing.T) {
	g, p := newProbeHarness(t)
	pod := testPod("web", "a")
	exec := &corev1.Probe{ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"ok", "$(X)"}}}}
	pod.Spec.Containers[0].ReadinessProbe, pod.Spec.Containers[0].Env = exec, []corev1.EnvVar{{Name: "X", Value: "1"}}
	g.admit(pod)
	g.waitUntil("it is probed", func() bool { return p.has("Readiness a#0 true") })
	p.mu.Lock()
	command := p.last.Container.ReadinessProbe.Exec.Command
	p.mu.Unlock()
	if !slices.Equal(command, []string{"ok", "1"}) {
		t.Errorf("the probe's command is %q", command)
	}
	ready := func() bool {
		_, cs := g.lifecycles[pod.UID].machine.Statuses()
		return cs[0].Ready
	}
	g.runner.HandleProbeResult(probe.Result{Pod: pod.UID, Container: "a", Probe: podlifecycle.Readiness, Attempt: 7, OK: true}) // of another run
	g.runner.HandleProbeResult(probe.Result{Pod: pod.UID, Container: "a", Probe: podlifecycle.Readiness, OK: true})
	g.waitUntil("it is ready", ready)
	g.service.Exit("web", "a", 1, "")
	g.waitUntil("its next run is probed", func() bool { return p.has("Readiness a#1 true") })
	g.delete(pod, time.Second)
	g.waitUntil("it is not probed any more", func() bool { return g.lifecycles[pod.UID].released && p.has("no Readiness a") })
}

// TestProbesResumeAfterRestart blocks the runtime: the probe is requested before the container is
// adopted.
func TestProbesResumeAfterRestart(t *testing.T) {
	g, p := newProbeHarness(t)
	pod := testPod("web", "a")
	pod.Spec.Containers[0].ReadinessProbe = &corev1.Probe{}
	ran := make(chan string, 8)
	g.service.OnExec(func(c *cri.ContainerStatus, command []string) (*cri.ExecSyncResponse, error) {
		ran <- c.Metadata.Name
		return &cri.ExecSyncResponse{}, nil
	})
	pod.Spec.Containers[0].Lifecycle = &corev1.Lifecycle{PreStop: execHook("bye")}
	g.admit(pod)
	g.waitUntil("it is probed", func() bool { return p.has("Readiness a#0 true") })
	g.stop()
	p.mu.Lock()
	p.reports = nil
	p.mu.Unlock()
	release := func() {}
	g.onRecovered = func() { release = g.service.Block("ContainerStatus") }
	g.restart()
	g.delete(pod, time.Minute)
	release()
	g.waitUntil("its hook has run and it has been released", func() bool { return g.lifecycles[pod.UID].released && len(ran) == 1 })
	if !p.has("Readiness a#0 true") || p.has("Readiness a#0 false") {
		t.Errorf("prober calls %q", p.reports)
	}
}
