package embedded

import (
	"strings"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/berthproject/berth/agent/network"
)

// unsupported returns an error for a field that this runtime does not support.
func unsupported(field, reason string) error {
	return status.Errorf(codes.InvalidArgument, "the embedded runtime does not support %s: %s; use a node with a CRI runtime such as containerd", field, reason)
}

// checkSandboxSupported returns an error if a field of the pod is not supported.
func checkSandboxSupported(config *cri.PodSandboxConfig, handler string) error {
	security := config.GetLinux().GetSecurityContext()
	if handler != "" {
		return unsupported("spec.runtimeClassName", "unknown handler "+handler)
	}
	// A sandbox runs no program of the pod, so security.GetPrivileged has no effect. A privileged
	// container is rejected when it is created.
	if err := checkSELinux(security.GetSelinuxOptions(), selinuxEnabled()); err != nil {
		return err
	}
	for _, port := range config.GetPortMappings() {
		if port.GetHostPort() > 0 {
			if err := network.CheckPortMapping(); err != nil {
				return unsupported("ports.hostPort", "host ports require the firewall: "+err.Error())
			}
		}
	}
	n := security.GetNamespaceOptions()
	for name := range config.GetLinux().GetSysctls() {
		isNetwork := strings.HasPrefix(name, "net.")
		if isNetwork && n.GetNetwork() == cri.NamespaceMode_NODE || !isNetwork && n.GetIpc() == cri.NamespaceMode_NODE {
			return unsupported("securityContext.sysctls "+name, "the pod shares that namespace with the node")
		}
	}
	return checkNamespacesSupported(n)
}

// checkRecursiveReadOnly returns an error for a mount that CRI does not allow to be recursively
// read-only.
func checkRecursiveReadOnly(m *cri.Mount) error {
	if !m.GetRecursiveReadOnly() || m.GetReadonly() && m.GetPropagation() == cri.MountPropagation_PROPAGATION_PRIVATE {
		return nil
	}
	return status.Errorf(codes.InvalidArgument, "mount %s: recursive_read_only: requires readonly and propagation PROPAGATION_PRIVATE, not readonly=%v and %v",
		m.GetContainerPath(), m.GetReadonly(), m.GetPropagation())
}

// checkNamespacesSupported returns an error if a container or sandbox requires a namespace mode that is not
// supported.
func checkNamespacesSupported(n *cri.NamespaceOption) error {
	if n.GetPid() == cri.NamespaceMode_NODE {
		return unsupported("spec.hostPID", "each container has its own PID namespace")
	}
	if u := n.GetUsernsOptions(); u != nil && u.GetMode() != cri.NamespaceMode_NODE {
		return unsupported("spec.hostUsers=false", "user namespaces are not implemented")
	}
	return nil
}

// checkSELinux returns an error if SELinux would have to apply the options. Without SELinux in the
// kernel they have no effect, as in containerd.
func checkSELinux(o *cri.SELinuxOption, enabled bool) error {
	if o == nil || !enabled {
		return nil
	}
	return unsupported("securityContext.seLinuxOptions", "SELinux labels are not implemented")
}

// selinuxEnabled reports whether SELinux is active on this machine.
func selinuxEnabled() bool {
	var fs unix.Statfs_t
	return unix.Statfs("/sys/fs/selinux", &fs) == nil && fs.Type == unix.SELINUX_MAGIC
}

// checkContainerSupported returns an error if a field of the container is not supported in a
// sandbox.
func checkContainerSupported(config *cri.ContainerConfig, sharedProcesses bool) error {
	s := config.GetLinux().GetSecurityContext()
	if bits, err := capabilities(s.GetCapabilities()); err == nil && sharedProcesses && hasAnyCapability("SYS_PTRACE", bits) {
		return unsupported("securityContext.capabilities SYS_PTRACE with spec.shareProcessNamespace", "the container could trace processes that start other containers of the pod, which still have the node's rights")
	}
	if s.GetPrivileged() {
		return unsupported("securityContext.privileged", "a privileged container would have root access to the node")
	}
	if p := s.GetApparmor(); p != nil && p.GetProfileType() != cri.SecurityProfile_Unconfined {
		return unsupported("securityContext.appArmorProfile", "AppArmor profiles are not implemented")
	}
	if p := s.GetApparmorProfile(); p != "" && p != "unconfined" { //nolint:staticcheck // the deprecated field of agents before 1.30
		return unsupported("securityContext.appArmorProfile", "AppArmor profiles are not implemented")
	}
	if err := checkSELinux(s.GetSelinuxOptions(), selinuxEnabled()); err != nil {
		return err
	}
	if s.GetSeccomp().GetProfileType() == cri.SecurityProfile_Localhost {
		return unsupported("securityContext.seccompProfile.type Localhost", "only the built-in filter is available, and it is always enabled")
	}
	if len(config.GetCDIDevices()) > 0 {
		return unsupported("resources of devices (CDI)", "devices are not implemented")
	}
	for _, d := range config.GetDevices() {
		if !strings.Contains(d.GetPermissions(), "w") {
			return unsupported("volumeDevices of a read-only volume", "read-only access to a device requires a device cgroup")
		}
	}
	if s.GetRunAsGroup() != nil && s.GetRunAsUser() == nil && s.GetRunAsUsername() == "" {
		return status.Error(codes.InvalidArgument, "run_as_group: requires run_as_user or run_as_username")
	}
	for _, m := range config.GetMounts() {
		if err := checkRecursiveReadOnly(m); err != nil {
			return err
		}
		if m.GetPropagation() == cri.MountPropagation_PROPAGATION_BIDIRECTIONAL {
			return unsupported("volumeMounts.mountPropagation Bidirectional", "mounts of a container cannot propagate to the node")
		}
		if err := checkImageMount(m); err != nil {
			return err
		}
		if len(m.GetUidMappings())+len(m.GetGidMappings()) > 0 {
			return unsupported("spec.hostUsers=false", "user namespaces are not implemented")
		}
	}
	return checkNamespacesSupported(s.GetNamespaceOptions())
}
