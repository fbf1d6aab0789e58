package pods

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/berthproject/berth/engine/podlife"
)

// Labels of sandboxes and containers, as the kubelet writes them, and one that says whose they are.
const (
	nameLabel      = "io.kubernetes.pod.name"
	namespaceLabel = "io.kubernetes.pod.namespace"
	uidLabel       = "io.kubernetes.pod.uid"
	containerLabel = "io.kubernetes.container.name"
	nodeLabel      = "berth.dev/node"
)

// box is a pod's sandbox.
type box struct {
	id        string // empty: there is none, or none that can be used
	attempt   uint32
	config    *cri.PodSandboxConfig
	addresses []string
}

// adopt takes up the sandbox that was found, if there is none yet. While the runtime does not say how it is
// it may be up, and what is in it run.
func (p *pod) adopt(ctx context.Context, f *found) error {
	if f == nil || len(f.boxes) == 0 || p.boxID() != "" {
		return nil
	}
	newest := f.boxes[0]
	status, err := p.runner.opts.Service.PodSandboxStatus(ctx, newest.GetId())
	if err != nil && !missing(err) {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.box.attempt = max(p.box.attempt, newest.GetMetadata().GetAttempt()+1)
	if err == nil && status.GetState() == cri.PodSandboxState_SANDBOX_READY {
		p.own(status.GetId(), newest.GetMetadata().GetAttempt(), status)
	}
	return nil
}

// own makes a sandbox the pod's. p.mu is held.
func (p *pod) own(id string, attempt uint32, status *cri.PodSandboxStatus) {
	r := p.runner
	p.box = box{id: id, attempt: attempt, addresses: addresses(status)}
	p.box.config = p.sandboxConfig(attempt)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sandboxes[id] = p
}

func addresses(status *cri.PodSandboxStatus) (out []string) {
	if ip := status.GetNetwork().GetIp(); ip != "" {
		out = append(out, ip)
		for _, more := range status.GetNetwork().GetAdditionalIps() {
			out = append(out, more.GetIp())
		}
	}
	return out
}

// sandbox is the pod's sandbox, made if there is none that can be used.
func (p *pod) sandbox(ctx context.Context) (*box, error) {
	r := p.runner
	p.mu.Lock()
	b, attempt := p.box, p.box.attempt
	config := p.sandboxConfig(attempt)
	p.mu.Unlock()
	if b.id != "" {
		return &b, nil
	}
	pod := p.seen()
	if err := p.dropBoxes(ctx); err != nil {
		return nil, err
	}
	handler, err := r.handler(ctx, pod)
	if err != nil {
		r.event(pod, "", corev1.EventTypeWarning, "FailedCreatePodSandBox", "Failed to create pod sandbox: "+err.Error())
		return nil, err
	}
	if r.withoutDNS(pod) {
		r.event(pod, "", corev1.EventTypeWarning, "MissingClusterDNS", fmt.Sprintf("pod: %q. kubelet does not have ClusterDNS IP configured and cannot create Pod using %q policy. Falling back to %q policy.",
			key(pod), pod.Spec.DNSPolicy, corev1.DNSDefault))
	}
	if bad := r.forbiddenSysctl(pod); bad != "" {
		return nil, &Wait{Reason: "SysctlForbidden", Message: fmt.Sprintf("forbidden sysctl: %q is not among the allowed ones", bad)}
	}
	if err := r.portsFree(config); err != nil {
		r.event(pod, "", corev1.EventTypeWarning, "HostPortInUse", err.Error())
		return nil, err
	}
	id, err := r.opts.Service.RunPodSandbox(r.ctx, config, handler)
	if err == nil {
		var status *cri.PodSandboxStatus
		if status, err = r.opts.Service.PodSandboxStatus(r.ctx, id); err == nil {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.own(id, attempt, status)
			b = p.box
			p.tell(nil, nil)
			return &b, nil
		}
	}
	r.event(pod, "", corev1.EventTypeWarning, "FailedCreatePodSandBox", "Failed to create pod sandbox: "+message(err))
	return nil, notMade(err)
}

// dropBoxes removes sandboxes of the pod that cannot be used, with the dead containers in them: those that were
// lost, and those that a call made which seemed to fail.
func (p *pod) dropBoxes(ctx context.Context) error {
	r := p.runner
	old, err := r.opts.Service.ListPodSandbox(ctx, &cri.PodSandboxFilter{LabelSelector: map[string]string{nodeLabel: r.opts.NodeName, uidLabel: string(p.seen().UID)}})
	if err != nil {
		return err
	}
	for _, b := range old {
		if err := r.removeSandbox(b.GetId()); err != nil {
			return err
		}
	}
	return nil
}

func (r *Runner) removeSandbox(id string) error {
	if err := r.opts.Service.StopPodSandbox(r.ctx, id); err != nil && !missing(err) {
		return err
	}
	if err := r.opts.Service.RemovePodSandbox(r.ctx, id); err != nil && !missing(err) {
		return err
	}
	return nil
}

// boxPatience is how long a sandbox that is down is left to whoever may have ended it.
const boxPatience = 200 * time.Millisecond

// dying says that what runs of the pod is being stopped already. p.mu is held.
func (p *pod) dying() bool {
	some := false
	for _, c := range p.runs {
		if c.state != ended {
			if !c.stopping {
				return false
			}
			some = true
		}
	}
	return some
}

// boxLost takes in that the pod's sandbox is down: what runs in it is ended too, and starts again in a new one.
func (p *pod) boxLost(id string) {
	r := p.runner
	p.mu.Lock()
	if p.box.id != id || p.leaving.asked || p.dying() {
		p.mu.Unlock()
		return
	}
	p.box = box{attempt: p.box.attempt + 1}
	pod := p.object
	p.tell(podlife.Lost{}, nil)
	var left []*run
	for _, c := range p.runs {
		if c.state == up {
			c.killing = true // what its sandbox gave it is gone
			left = append(left, c)
		}
	}
	p.mu.Unlock()
	r.mu.Lock()
	delete(r.sandboxes, id)
	r.mu.Unlock()
	r.event(pod, "", corev1.EventTypeNormal, "SandboxChanged", "Pod sandbox changed, it will be killed and re-created.")
	if err := r.opts.Service.StopPodSandbox(r.ctx, id); err != nil {
		r.opts.Log.Error(err, "A sandbox that is down cannot be stopped", "pod", key(pod))
	}
	for _, c := range left {
		p.mu.Lock()
		p.halt(c)
		p.mu.Unlock()
	}
}

// sandboxConfig is what the pod's sandbox is made with. p.mu is held.
func (p *pod) sandboxConfig(attempt uint32) *cri.PodSandboxConfig {
	r, pod := p.runner, p.object
	c := &cri.PodSandboxConfig{
		Metadata:     &cri.PodSandboxMetadata{Name: pod.Name, Namespace: pod.Namespace, Uid: string(pod.UID), Attempt: attempt},
		Hostname:     hostname(pod, r.opts.DNS.Domain),
		LogDirectory: LogDir(r.opts.Logs, pod),
		DnsConfig:    r.dns(pod),
		PortMappings: portMappings(pod),
		Labels:       r.labels(pod),
		Annotations:  maps.Clone(pod.Annotations),
		Linux:        &cri.LinuxPodSandboxConfig{SecurityContext: sandboxSecurity(pod), Sysctls: sysctls(pod)},
	}
	if r.opts.Cgroups != nil {
		c.Linux.CgroupParent = Cgroup(r.opts.CgroupRoot, pod)
	}
	return c
}

// labels are those of the pod, and those by which it is known again.
func (r *Runner) labels(pod *corev1.Pod) map[string]string {
	l := maps.Clone(pod.Labels)
	if l == nil {
		l = map[string]string{}
	}
	l[nameLabel], l[namespaceLabel], l[uidLabel], l[nodeLabel] = pod.Name, pod.Namespace, string(pod.UID), r.opts.NodeName
	return l
}

// portMappings are the host ports of the pod; with the host's network there is nothing to map.
func portMappings(pod *corev1.Pod) (out []*cri.PortMapping) {
	if pod.Spec.HostNetwork {
		return nil
	}
	for _, list := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range list {
			for _, port := range list[i].Ports {
				protocol := map[corev1.Protocol]cri.Protocol{corev1.ProtocolUDP: cri.Protocol_UDP, corev1.ProtocolSCTP: cri.Protocol_SCTP}[port.Protocol]
				m := &cri.PortMapping{Protocol: protocol, ContainerPort: port.ContainerPort, HostPort: port.HostPort, HostIp: port.HostIP}
				if port.HostPort > 0 && !slices.ContainsFunc(out, func(o *cri.PortMapping) bool {
					return o.HostPort == m.HostPort && o.Protocol == m.Protocol && o.HostIp == m.HostIp
				}) {
					out = append(out, m)
				}
			}
		}
	}
	return out
}
