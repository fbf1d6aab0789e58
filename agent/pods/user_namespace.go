package pods

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/berthproject/berth/agent/userns"
)

// hasUserNamespace reports whether the pod requests its own user namespace.
func hasUserNamespace(pod *corev1.Pod) bool { return pod.Spec.HostUsers != nil && !*pod.Spec.HostUsers }

// assignUserNamespace assigns a range of IDs to a pod that requests its own user namespace. It fails if
// the runtime's handler does not support one: the pod would be root on the node.
func (r *Runner) assignUserNamespace(ctx context.Context, pod *corev1.Pod, handler string) error {
	if !hasUserNamespace(pod) {
		return nil
	}
	status, err := r.opts.Service.Status(ctx)
	if err != nil {
		return err
	}
	if !supportsUserNamespaces(status, handler) {
		refused := "runtime does not support user namespaces"
		if handler != "" {
			refused = fmt.Sprintf("RuntimeClass handler %q does not support user namespaces", handler)
		}
		return &WaitingError{Reason: reasonRefusedByRuntime, Message: "can't set `spec.hostUsers: false`, " + refused}
	}
	if r.opts.UserNamespaces == nil {
		return &WaitingError{Reason: reasonRefusedByRuntime, Message: "can't set `spec.hostUsers: false`, the node has no user IDs for pods; the log of the agent has the reason"}
	}
	_, err = r.opts.UserNamespaces.Allocate(pod.UID)
	return err
}

// supportsUserNamespaces reports whether a handler supports user namespaces. Runtimes that support them in
// no handler may report none.
func supportsUserNamespaces(status *cri.StatusResponse, handler string) bool {
	for _, h := range status.GetRuntimeHandlers() {
		if h.GetName() == handler {
			return h.GetFeatures().GetUserNamespaces()
		}
	}
	return false
}

// userNamespace returns the user namespace of a pod: that of the node, or one with the range that
// assignUserNamespace assigned.
func (r *Runner) userNamespace(pod *corev1.Pod) (*cri.UserNamespace, error) {
	if !hasUserNamespace(pod) {
		return &cri.UserNamespace{Mode: cri.NamespaceMode_NODE}, nil
	}
	ids, ok := r.opts.UserNamespaces.Lookup(pod.UID)
	if !ok {
		return nil, fmt.Errorf("pod %s has no range of user IDs", podKey(pod))
	}
	mapping := []*cri.IDMapping{{HostId: ids.First, Length: ids.Length}}
	return &cri.UserNamespace{Mode: cri.NamespaceMode_POD, Uids: mapping, Gids: mapping}, nil
}

// mapMounts shows the files of the mounts with the IDs of the user namespace. It returns an error that
// names the first mount whose file system does not support that.
func mapMounts(users *cri.UserNamespace, mounts []*cri.Mount, fileSystems *userns.FileSystems) error {
	if users.GetMode() != cri.NamespaceMode_POD {
		return nil
	}
	for _, m := range mounts {
		m.UidMappings, m.GidMappings = users.GetUids(), users.GetGids()
		if m.GetHostPath() == "" { // the runtime mounts an image
			continue
		}
		if err := fileSystems.Check(m.GetHostPath()); err != nil {
			return fmt.Errorf("can't set `spec.hostUsers: false`, volume mount %s: %w", m.GetContainerPath(), err)
		}
	}
	return nil
}
