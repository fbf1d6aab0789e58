package pods

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/agent/probe"
	"github.com/berthproject/berth/engine/podlifecycle"
)

// StartProbe implements runtime.Runtime.
func (r *Runner) StartProbe(object *corev1.Pod, container string, kind podlifecycle.Probes, _ int32) {
	p := r.lookup(object.UID)
	if p == nil || r.opts.Prober == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.probes[container] |= kind
	// A container from before the restart may not be adopted yet.
	if c := p.runs[container]; c != nil && c.state == stateRunning {
		p.startProbes(c, kind)
	}
}

var probeKinds = []podlifecycle.Probes{podlifecycle.Startup, podlifecycle.Readiness, podlifecycle.Liveness}

// startProbes starts those of the given probe kinds that are requested for a running container.
// p.mu must be held.
func (p *pod) startProbes(c *run, kinds podlifecycle.Probes) {
	spec := findContainer(p.object, c.name)
	for _, kind := range probeKinds {
		if p.probes[c.name]&kinds&kind != 0 && spec != nil {
			p.runner.opts.Prober.Start(probe.Target{Pod: p.object, Container: expandProbeCommands(spec), Probe: kind, Attempt: int32(c.attempt), ID: c.id, Address: p.address(), Started: c.startedAt})
		}
	}
}

// address returns the address of the pod, or the node's address for pods with the host's network.
// p.mu must be held.
func (p *pod) address() string {
	if len(p.sandbox.addresses) > 0 {
		return p.sandbox.addresses[0]
	}
	for _, a := range p.runner.opts.Node().Status.Addresses {
		if a.Type == corev1.NodeInternalIP {
			return a.Address
		}
	}
	return ""
}

// expandProbeCommands returns the container with $(NAME) in probe commands replaced by the values
// of its literal environment variables.
func expandProbeCommands(spec *corev1.Container) *corev1.Container {
	values := map[string]string{}
	for _, v := range spec.Env {
		if v.ValueFrom == nil {
			values[v.Name] = v.Value
		}
	}
	out := spec.DeepCopy()
	for _, p := range []*corev1.Probe{out.StartupProbe, out.ReadinessProbe, out.LivenessProbe} {
		if p != nil && p.Exec != nil {
			p.Exec.Command = expandAll(p.Exec.Command, func(name string) (string, bool) { v, ok := values[name]; return v, ok })
		}
	}
	return out
}

// StopProbe implements runtime.Runtime.
func (r *Runner) StopProbe(uid types.UID, container string, kind podlifecycle.Probes) {
	if p := r.lookup(uid); p != nil && r.opts.Prober != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.probes[container] &^= kind
		r.opts.Prober.Stop(uid, container, kind)
	}
}

// stopProbes stops all requested probes of the pod.
func (p *pod) stopProbes() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for container, requested := range p.probes {
		for _, kind := range probeKinds {
			if requested&kind != 0 {
				p.runner.opts.Prober.Stop(p.object.UID, container, kind)
			}
		}
	}
	clear(p.probes)
}

// HandleProbeResult processes a probe result. Set it as the Prober's Report function.
func (r *Runner) HandleProbeResult(result probe.Result) {
	p := r.lookup(result.Pod)
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if c := p.runs[result.Container]; c == nil || c.state == stateExited || c.attempt != uint32(result.Attempt) {
		return // an earlier run
	}
	p.report(podlifecycle.ProbeResult{Container: result.Container, Probe: result.Probe, Attempt: result.Attempt, OK: result.OK}, nil)
}

// Exec runs a command in a container for the Prober. It returns the exit code and the output.
func (r *Runner) Exec(ctx context.Context, id string, command []string, timeout time.Duration) (code int, output string, err error) {
	out, err := r.opts.Service.ExecSync(ctx, id, command, timeout)
	if err != nil {
		return 0, "", err
	}
	return int(out.GetExitCode()), string(out.GetStdout()) + string(out.GetStderr()), nil
}
