package embedded

import (
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/berthproject/berth/agent/network"
)

// unsupported returns an error for a field that this runtime does not support.
func unsupported(field, why string) error {
	return status.Errorf(codes.InvalidArgument, "the embedded runtime refuses %s: %s; a node with a CRI runtime (containerd) runs it", field, why)
}

// checkSandboxSupported returns an error if a field of the pod is not supported.
func checkSandboxSupported(config *cri.PodSandboxConfig, handler string) error {
	security := config.GetLinux().GetSecurityContext()
	if handler != "" {
		return unsupported("spec.runtimeClassName", "it is the only runtime here, so a handler "+handler+" is not")
	}
	if security.GetPrivileged() {
		return unsupported("securityContext.privileged", "a privileged container would be the node's root")
	}
	if security.GetSelinuxOptions() != nil {
		return unsupported("securityContext.seLinuxOptions", "it sets no SELinux labels")
	}
	for _, port := range config.GetPortMappings() {
		if port.GetHostPort() > 0 {
			if err := network.CheckPortMapping(); err != nil {
				return unsupported("ports.hostPort", "ports of the host are mapped by the firewall, and "+err.Error())
			}
		}
	}
	n := security.GetNamespaceOptions()
	for name := range config.GetLinux().GetSysctls() {
		network := strings.HasPrefix(name, "net.")
		if network && n.GetNetwork() == cri.NamespaceMode_NODE || !network && n.GetIpc() == cri.NamespaceMode_NODE {
			return unsupported("securityContext.sysctls "+name, "the pod shares that namespace with the node, which it would change")
		}
	}
	return checkNamespacesSupported(n)
}

func checkNamespacesSupported(n *cri.NamespaceOption) error {
	if n.GetPid() == cri.NamespaceMode_NODE {
		return unsupported("spec.hostPID", "its containers have process namespaces of their own")
	}
	if n.GetPid() == cri.NamespaceMode_TARGET {
		return unsupported("spec.ephemeralContainers.targetContainerName", "a container joins no other's process namespace")
	}
	if u := n.GetUsernsOptions(); u != nil && u.GetMode() != cri.NamespaceMode_NODE {
		return unsupported("spec.hostUsers=false", "it makes no user namespaces")
	}
	return nil
}

// checkContainerSupported returns an error if a field of the container is not supported.
func checkContainerSupported(config *cri.ContainerConfig) error {
	s := config.GetLinux().GetSecurityContext()
	if s.GetPrivileged() {
		return unsupported("securityContext.privileged", "a privileged container would be the node's root")
	}
	if p := s.GetApparmor(); p != nil && p.GetProfileType() != cri.SecurityProfile_Unconfined {
		return unsupported("securityContext.appArmorProfile", "it loads no AppArmor profiles")
	}
	if p := s.GetApparmorProfile(); p != "" && p != "unconfined" { //nolint:staticcheck // the deprecated field of agents before 1.30
		return unsupported("securityContext.appArmorProfile", "it loads no AppArmor profiles")
	}
	if s.GetSelinuxOptions() != nil {
		return unsupported("securityContext.seLinuxOptions", "it sets no SELinux labels")
	}
	if s.GetSeccomp().GetProfileType() == cri.SecurityProfile_Localhost {
		return unsupported("securityContext.seccompProfile.type Localhost", "it has one filter only, which is always on")
	}
	if len(config.GetCDIDevices()) > 0 {
		return unsupported("resources of devices (CDI)", "it hands no devices to containers")
	}
	for _, d := range config.GetDevices() {
		if !strings.Contains(d.GetPermissions(), "w") {
			return unsupported("volumeDevices of a read-only volume", "without a device cgroup who has a device may write to it")
		}
	}
	for _, m := range config.GetMounts() {
		if m.GetPropagation() == cri.MountPropagation_PROPAGATION_BIDIRECTIONAL {
			return unsupported("volumeMounts.mountPropagation Bidirectional", "what a container mounts stays in it")
		}
		if m.GetImage().GetImage() != "" {
			return unsupported("volumes.image", "it mounts no images as volumes")
		}
		if len(m.GetUidMappings())+len(m.GetGidMappings()) > 0 {
			return unsupported("spec.hostUsers=false", "it makes no user namespaces")
		}
	}
	return checkNamespacesSupported(s.GetNamespaceOptions())
}
