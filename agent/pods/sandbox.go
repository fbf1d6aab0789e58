package pods

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/berthproject/berth/engine/podlifecycle"
)

// Labels of sandboxes and containers. All but nodeLabel are the kubelet's.
const (
	podNameLabel       = "io.kubernetes.pod.name"
	podNamespaceLabel  = "io.kubernetes.pod.namespace"
	podUIDLabel        = "io.kubernetes.pod.uid"
	containerNameLabel = "io.kubernetes.container.name"
	nodeLabel          = "berth.dev/node"
)

// podSandbox is the current sandbox of a pod.
type podSandbox struct {
	id        string // empty if there is no usable sandbox
	attempt   uint32
	config    *cri.PodSandboxConfig
	addresses []string
}

// adoptSandbox adopts the newest existing sandbox if it is ready and the pod has none. It returns an
// error while the runtime does not report the sandbox's state, because its containers may be running.
func (p *pod) adoptSandbox(ctx context.Context, existing *existingPod) error {
	if existing == nil || len(existing.sandboxes) == 0 || p.sandboxID() != "" {
		return nil
	}
	newest := existing.sandboxes[0]
	status, err := p.runner.opts.Service.PodSandboxStatus(ctx, newest.GetId())
	if err != nil && !isNotFound(err) {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sandbox.attempt = max(p.sandbox.attempt, newest.GetMetadata().GetAttempt()+1)
	if err == nil && status.GetState() == cri.PodSandboxState_SANDBOX_READY {
		p.setSandbox(status.GetId(), newest.GetMetadata().GetAttempt(), status)
	}
	return nil
}

// setSandbox sets the sandbox of the pod. p.mu must be held.
func (p *pod) setSandbox(id string, attempt uint32, status *cri.PodSandboxStatus) {
	r := p.runner
	p.sandbox = podSandbox{id: id, attempt: attempt, addresses: sandboxIPs(status)}
	p.sandbox.config = p.sandboxConfig(attempt)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sandboxes[id] = p
}

// sandboxIPs returns the IPs of a sandbox, primary IP first.
func sandboxIPs(status *cri.PodSandboxStatus) (out []string) {
	if ip := status.GetNetwork().GetIp(); ip != "" {
		out = append(out, ip)
		for _, additional := range status.GetNetwork().GetAdditionalIps() {
			out = append(out, additional.GetIp())
		}
	}
	return out
}

// ensureSandbox returns the pod's sandbox and creates it if there is no usable one.
func (p *pod) ensureSandbox(ctx context.Context) (*podSandbox, error) {
	r := p.runner
	p.mu.Lock()
	sandbox, attempt := p.sandbox, p.sandbox.attempt
	p.mu.Unlock()
	if sandbox.id != "" {
		return &sandbox, nil
	}
	pod := p.latest()
	if err := p.removeUnusableSandboxes(ctx); err != nil {
		return nil, err
	}
	handler, err := r.runtimeHandler(ctx, pod)
	if err == nil {
		err = r.assignUserNamespace(ctx, pod, handler)
	}
	if err != nil {
		r.recordEvent(pod, "", corev1.EventTypeWarning, "FailedCreatePodSandBox", "Failed to create pod sandbox: "+err.Error())
		return nil, err
	}
	if r.lacksClusterDNS(pod) {
		r.recordEvent(pod, "", corev1.EventTypeWarning, "MissingClusterDNS", fmt.Sprintf("pod: %q. kubelet does not have ClusterDNS IP configured and cannot create Pod using %q policy. Falling back to %q policy.",
			podKey(pod), pod.Spec.DNSPolicy, corev1.DNSDefault))
	}
	p.mu.Lock()
	config := p.sandboxConfig(attempt)
	p.mu.Unlock()
	if err := r.checkHostPorts(config); err != nil {
		r.recordEvent(pod, "", corev1.EventTypeWarning, "HostPortInUse", err.Error())
		return nil, err
	}
	id, err := r.opts.Service.RunPodSandbox(r.ctx, config, handler)
	if err == nil {
		var status *cri.PodSandboxStatus
		if status, err = r.opts.Service.PodSandboxStatus(r.ctx, id); err == nil {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.setSandbox(id, attempt, status)
			sandbox = p.sandbox
			p.report(nil, nil)
			return &sandbox, nil
		}
	}
	r.recordEvent(pod, "", corev1.EventTypeWarning, "FailedCreatePodSandBox", "Failed to create pod sandbox: "+errorMessage(err))
	return nil, sandboxError(err)
}

// removeUnusableSandboxes removes the pod's unusable sandboxes with their exited containers: lost
// sandboxes, and those of calls that seemed to fail.
func (p *pod) removeUnusableSandboxes(ctx context.Context) error {
	r := p.runner
	sandboxes, err := r.opts.Service.ListPodSandbox(ctx, &cri.PodSandboxFilter{LabelSelector: map[string]string{nodeLabel: r.opts.NodeName, podUIDLabel: string(p.latest().UID)}})
	if err != nil {
		return err
	}
	for _, s := range sandboxes {
		if err := r.removeSandbox(s.GetId()); err != nil {
			return err
		}
	}
	return nil
}

// removeSandbox stops and removes a sandbox. It succeeds if the sandbox does not exist.
func (r *Runner) removeSandbox(id string) error {
	if err := r.opts.Service.StopPodSandbox(r.ctx, id); err != nil && !isNotFound(err) {
		return err
	}
	if err := r.opts.Service.RemovePodSandbox(r.ctx, id); err != nil && !isNotFound(err) {
		return err
	}
	return nil
}

// sandboxDownDelay is the delay before a stopped sandbox is treated as lost, because the pod's
// teardown may have stopped it.
const sandboxDownDelay = 200 * time.Millisecond

// isTerminating reports whether the pod has containers that have not exited, and all of these are
// being stopped. p.mu must be held.
func (p *pod) isTerminating() bool {
	running := false
	for _, c := range p.runs {
		if c.state != stateExited {
			if !c.stopping {
				return false
			}
			running = true
		}
	}
	return running
}

// handleSandboxLost stops the containers of a lost sandbox, so that they restart in a new one.
func (p *pod) handleSandboxLost(id string) {
	r := p.runner
	p.mu.Lock()
	if p.sandbox.id != id || p.teardown.requested || p.isTerminating() {
		p.mu.Unlock()
		return
	}
	p.sandbox = podSandbox{attempt: p.sandbox.attempt + 1}
	pod := p.object
	p.report(podlifecycle.SandboxLost{}, nil)
	var running []*run
	for _, c := range p.runs {
		if c.state == stateRunning {
			c.killing = true // its network and namespaces are lost
			running = append(running, c)
		}
	}
	p.mu.Unlock()
	r.mu.Lock()
	delete(r.sandboxes, id)
	r.mu.Unlock()
	r.recordEvent(pod, "", corev1.EventTypeNormal, "SandboxChanged", "Pod sandbox changed, it will be killed and re-created.")
	if err := r.opts.Service.StopPodSandbox(r.ctx, id); err != nil {
		r.opts.Log.Error(err, "Failed to stop lost sandbox", "pod", podKey(pod))
	}
	for _, c := range running {
		p.mu.Lock()
		p.stopAsync(c)
		p.mu.Unlock()
	}
}

// sandboxConfig returns the CRI configuration of the pod's sandbox. p.mu must be held.
func (p *pod) sandboxConfig(attempt uint32) *cri.PodSandboxConfig {
	r, pod := p.runner, p.object
	users, _ := r.userNamespace(pod) // after an error, containerConfig fails, so the sandbox gets no containers
	c := &cri.PodSandboxConfig{
		Metadata:     &cri.PodSandboxMetadata{Name: pod.Name, Namespace: pod.Namespace, Uid: string(pod.UID), Attempt: attempt},
		Hostname:     hostname(pod, r.opts.DNS.Domain),
		LogDirectory: LogDir(r.opts.Logs, pod),
		DnsConfig:    r.dnsConfig(pod),
		PortMappings: portMappings(pod),
		Labels:       r.runtimeLabels(pod),
		Annotations:  maps.Clone(pod.Annotations),
		Linux:        &cri.LinuxPodSandboxConfig{SecurityContext: sandboxSecurityContext(pod, users), Sysctls: sysctls(pod)},
	}
	if r.opts.Cgroups != nil {
		c.Linux.CgroupParent = Cgroup(r.opts.CgroupRoot, pod)
	}
	return c
}

// runtimeLabels returns the pod's labels and those that identify the pod.
func (r *Runner) runtimeLabels(pod *corev1.Pod) map[string]string {
	l := maps.Clone(pod.Labels)
	if l == nil {
		l = map[string]string{}
	}
	l[podNameLabel], l[podNamespaceLabel], l[podUIDLabel], l[nodeLabel] = pod.Name, pod.Namespace, string(pod.UID), r.opts.NodeName
	return l
}

// portMappings returns the host ports of the pod, none for pods with the host's network.
func portMappings(pod *corev1.Pod) (out []*cri.PortMapping) {
	if pod.Spec.HostNetwork {
		return nil
	}
	for _, list := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range list {
			for _, port := range list[i].Ports {
				protocol := map[corev1.Protocol]cri.Protocol{corev1.ProtocolUDP: cri.Protocol_UDP, corev1.ProtocolSCTP: cri.Protocol_SCTP}[port.Protocol]
				m := &cri.PortMapping{Protocol: protocol, ContainerPort: port.ContainerPort, HostPort: port.HostPort, HostIp: port.HostIP}
				if port.HostPort > 0 && !slices.ContainsFunc(out, func(other *cri.PortMapping) bool {
					return other.HostPort == m.HostPort && other.Protocol == m.Protocol && other.HostIp == m.HostIp
				}) {
					out = append(out, m)
				}
			}
		}
	}
	return out
}
