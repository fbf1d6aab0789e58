package embedded

import (
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// target returns the ID of the container whose PID namespace an ephemeral container joins, or "".
func (c *container) target() string { return targetOf(c.record.Config) }

func targetOf(config *cri.ContainerConfig) string {
	n := config.GetLinux().GetSecurityContext().GetNamespaceOptions()
	if n.GetPid() != cri.NamespaceMode_TARGET {
		return ""
	}
	return n.GetTargetId()
}

// checkTarget returns an error if the container cannot join the PID namespace of its target. While
// it starts, it has the node's rights there, so no process of that namespace may trace others. The
// new container itself may have SYS_PTRACE, to debug its target.
func (r *Runtime) checkTarget(config *cri.ContainerConfig, sandbox string) error {
	id := targetOf(config)
	if n := config.GetLinux().GetSecurityContext().GetNamespaceOptions(); n.GetPid() == cri.NamespaceMode_TARGET && id == "" {
		return status.Error(codes.InvalidArgument, "namespace_options.target_id: required for the mode TARGET")
	}
	if id == "" {
		return nil
	}
	target := r.findContainer(id)
	if target == nil || target.record.Sandbox != sandbox {
		return status.Errorf(codes.NotFound, "target container %q: not found in sandbox %s", id, sandbox)
	}
	if target.state() != cri.ContainerState_CONTAINER_RUNNING {
		return status.Errorf(codes.FailedPrecondition, "target container %s is not running", id)
	}
	return r.checkNoTracer(target)
}

// checkNoTracer returns an error if a container in the PID namespace of target has SYS_PTRACE.
func (r *Runtime) checkNoTracer(target *container) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, other := range r.containers {
		shares := other == target || other.target() == target.record.ID
		if shares && other.state() == cri.ContainerState_CONTAINER_RUNNING && other.tracesProcesses() {
			return unsupported("spec.ephemeralContainers.targetContainerName", "container "+other.record.Config.GetMetadata().GetName()+
				" has the capability SYS_PTRACE in the target's PID namespace, and could trace the start of this container, which has the node's rights")
		}
	}
	return nil
}

// lockTarget repeats checkNoTracer for the target of a container, and blocks starts of other containers in the target's
// PID namespace until unlock is called.
func (r *Runtime) lockTarget(c *container) (unlock func(), err error) {
	target := r.findContainer(c.target())
	if c.target() == "" || target == nil {
		return func() {}, nil // without its target, the container does not start
	}
	target.joinMu.Lock()
	if err := r.checkNoTracer(target); err != nil {
		target.joinMu.Unlock()
		return nil, err
	}
	return target.joinMu.Unlock, nil
}

// tracesProcesses reports whether the container has SYS_PTRACE.
func (c *container) tracesProcesses() bool {
	bits, err := capabilities(c.record.Config.GetLinux().GetSecurityContext().GetCapabilities())
	return err != nil || hasAnyCapability("SYS_PTRACE", bits)
}

// openNamespaces returns a pidfd of a process in the namespaces that a container joins. It is the
// sandbox or, for an ephemeral container with a target, the target, which is also in the sandbox's
// namespaces. The caller closes it.
func (r *Runtime) openNamespaces(c *container, sb *sandbox) (int, error) {
	id := c.target()
	if id == "" {
		return sb.openProcess()
	}
	target := r.findContainer(id)
	if target == nil {
		return -1, notFound("target container", id)
	}
	p := target.runningProcess()
	if p == nil {
		return -1, status.Errorf(codes.FailedPrecondition, "target container %s is not running", id)
	}
	return p.duplicateFD()
}
