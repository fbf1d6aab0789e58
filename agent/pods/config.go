package pods

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/berthproject/berth/agent/runtime"
)

// Annotations that the kubelet also sets on containers.
const (
	restartCountAnnotation             = "io.kubernetes.container.restartCount"
	terminationMessagePathAnnotation   = "io.kubernetes.container.terminationMessagePath"
	terminationMessagePolicyAnnotation = "io.kubernetes.container.terminationMessagePolicy"
	gracePeriodAnnotation              = "io.kubernetes.pod.terminationGracePeriod"
)

// containerConfig returns the CRI configuration of a container. The caller reports an error as
// CreateContainerConfigError.
func (p *pod) containerConfig(ctx context.Context, c *run, spec *corev1.Container, ref string) (*cri.ContainerConfig, error) {
	r, pod := p.runner, p.withAddresses()
	env, err := r.makeEnvironment(ctx, pod, spec)
	if err != nil {
		return nil, err
	}
	image, err := r.opts.Service.ImageStatus(ctx, &cri.ImageSpec{Image: ref})
	if err != nil {
		return nil, err
	}
	if err := verifyRunAsNonRoot(pod, spec, image); err != nil {
		return nil, err
	}
	users, err := r.userNamespace(pod)
	if err != nil {
		return nil, err
	}
	mounts, devices, err := p.mounts(c, pod, spec, env, users)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Join(LogDir(r.opts.Logs, pod), spec.Name), 0o755); err != nil {
		return nil, err
	}
	security := r.containerSecurityContext(pod, spec, users)
	if err := p.setTarget(security, pod, c.name); err != nil {
		return nil, err
	}
	labels := r.runtimeLabels(pod)
	labels[containerNameLabel] = spec.Name
	config := &cri.ContainerConfig{
		Metadata:    &cri.ContainerMetadata{Name: spec.Name, Attempt: c.attempt},
		Image:       &cri.ImageSpec{Image: ref, UserSpecifiedImage: spec.Image},
		Command:     expandAll(spec.Command, env.lookup),
		Args:        expandAll(spec.Args, env.lookup),
		WorkingDir:  spec.WorkingDir,
		Envs:        env.keyValues(),
		Mounts:      mounts,
		Devices:     devices,
		Labels:      labels,
		Annotations: containerAnnotations(pod, spec, c.attempt),
		LogPath:     logPath(spec.Name, c.attempt),
		Stdin:       spec.Stdin, StdinOnce: spec.StdinOnce, Tty: spec.TTY,
		Linux: &cri.LinuxContainerConfig{Resources: r.containerResources(pod, spec), SecurityContext: security},
	}
	setUserForGroup(config.Linux.SecurityContext, image)
	if l := spec.Lifecycle; l != nil && l.StopSignal != nil {
		config.StopSignal = stopSignal(*l.StopSignal)
	}
	return config, nil
}

// mounts returns the mounts of a container, including those that no volume provides, and its block devices.
func (p *pod) mounts(c *run, pod *corev1.Pod, spec *corev1.Container, env *environment, users *cri.UserNamespace) ([]*cri.Mount, []*cri.Device, error) {
	volumes, devices, err := p.runner.opts.Volumes.Mounts(pod, spec, env.expandPath)
	if err != nil {
		return nil, nil, err
	}
	implicit, err := p.implicitMounts(c, spec, volumes)
	if err != nil {
		return nil, nil, err
	}
	mounts := slices.Concat(volumes, implicit)
	return mounts, devices, mapMounts(users, mounts, &p.runner.fileSystems)
}

// setTarget lets an ephemeral container join the PID namespace of its target container.
func (p *pod) setTarget(s *cri.LinuxContainerSecurityContext, pod *corev1.Pod, name string) error {
	c := findEphemeral(pod, name)
	if c == nil || c.TargetContainerName == "" {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	target := p.runs[c.TargetContainerName]
	if target == nil || target.state != stateRunning {
		return fmt.Errorf("unable to find target container %q: it is not running", c.TargetContainerName)
	}
	s.NamespaceOptions.Pid, s.NamespaceOptions.TargetId = cri.NamespaceMode_TARGET, target.id
	return nil
}

// stopSignal converts a signal to CRI's enumeration. Unknown signals become 0, the runtime's
// default.
func stopSignal(s corev1.Signal) cri.Signal {
	return cri.Signal(cri.Signal_value["SIGNAL_"+strings.NewReplacer("+", "PLUS", "-", "MINUS").Replace(string(s))])
}

func containerAnnotations(pod *corev1.Pod, spec *corev1.Container, attempt uint32) map[string]string {
	annotations := map[string]string{restartCountAnnotation: strconv.FormatUint(uint64(attempt), 10), terminationMessagePathAnnotation: spec.TerminationMessagePath, terminationMessagePolicyAnnotation: string(spec.TerminationMessagePolicy)}
	if g := pod.Spec.TerminationGracePeriodSeconds; g != nil {
		annotations[gracePeriodAnnotation] = strconv.FormatInt(*g, 10)
	}
	return annotations
}

// withAddresses returns a copy of the pod whose status has the addresses of the pod and the node.
func (p *pod) withAddresses() *corev1.Pod {
	p.mu.Lock()
	pod, ips := p.object.DeepCopy(), p.sandbox.addresses
	p.mu.Unlock()
	for _, a := range p.runner.opts.Node().Status.Addresses {
		if a.Type == corev1.NodeInternalIP {
			pod.Status.HostIP, pod.Status.HostIPs = a.Address, []corev1.HostIP{{IP: a.Address}}
			break
		}
	}
	if pod.Spec.HostNetwork && pod.Status.HostIP != "" {
		ips = []string{pod.Status.HostIP}
	}
	if len(ips) > 0 {
		pod.Status.PodIP, pod.Status.PodIPs = ips[0], nil
		for _, ip := range ips {
			pod.Status.PodIPs = append(pod.Status.PodIPs, corev1.PodIP{IP: ip})
		}
	}
	return pod
}

// containerInfo converts a CRI container status to the information that the agent reports.
func (r *Runner) containerInfo(name string, status *cri.ContainerStatus) *runtime.ContainerInfo {
	info := &runtime.ContainerInfo{Name: name, ID: r.containerID(status.GetId()), Image: status.GetImage().GetImage(), ImageID: status.GetImageRef()}
	if info.ImageID == "" {
		info.ImageID = status.GetImageId()
	}
	return info
}
