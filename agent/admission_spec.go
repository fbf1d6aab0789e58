package agent

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// safeSysctls are the namespaced sysctls that every pod may set.
var safeSysctls = []string{
	"kernel.shm_rmid_forced",
	"net.ipv4.ip_local_port_range",
	"net.ipv4.tcp_syncookies",
	"net.ipv4.ping_group_range",
	"net.ipv4.ip_unprivileged_port_start",
	"net.ipv4.ip_local_reserved_ports",
	"net.ipv4.tcp_keepalive_time",
	"net.ipv4.tcp_fin_timeout",
	"net.ipv4.tcp_keepalive_intvl",
	"net.ipv4.tcp_keepalive_probes",
	"net.ipv4.tcp_rmem",
	"net.ipv4.tcp_wmem",
}

// checkSysctls rejects a pod that sets a forbidden sysctl. allowedUnsafe lists the unsafe
// sysctls that the node allows.
func checkSysctls(p *corev1.Pod, allowedUnsafe []string) *Rejection {
	if p.Spec.SecurityContext == nil {
		return nil
	}
	for i := range p.Spec.SecurityContext.Sysctls {
		name := strings.ReplaceAll(p.Spec.SecurityContext.Sysctls[i].Name, "/", ".")
		switch {
		case !slices.Contains(safeSysctls, name) && !slices.ContainsFunc(allowedUnsafe, func(allowed string) bool { return matchesSysctl(allowed, name) }):
			return &Rejection{"SysctlForbidden", "forbidden sysctl: \"" + name + "\" not allowlisted"}
		case p.Spec.HostNetwork && strings.HasPrefix(name, "net."):
			return &Rejection{"SysctlForbidden", "forbidden sysctl: \"" + name + "\" not allowed with host net enabled"}
		case p.Spec.HostIPC && (strings.HasPrefix(name, "fs.mqueue.") || strings.HasPrefix(name, "kernel.shm") || strings.HasPrefix(name, "kernel.msg") || name == "kernel.sem"):
			return &Rejection{"SysctlForbidden", "forbidden sysctl: \"" + name + "\" not allowed with host ipc enabled"}
		}
	}
	return nil
}

// matchesSysctl reports whether name equals allowed, or has its prefix if allowed ends in "*".
func matchesSysctl(allowed, name string) bool {
	prefix, isPattern := strings.CutSuffix(allowed, "*")
	return allowed == name || isPattern && strings.HasPrefix(name, prefix)
}

// checkPlatform rejects a pod for another operating system, or one that needs a feature the
// node does not have.
func checkPlatform(p *corev1.Pod, n *corev1.Node) *Rejection {
	if want, ok := p.Spec.NodeSelector[corev1.LabelOSStable]; ok && want != n.Labels[corev1.LabelOSStable] {
		return &Rejection{"PodOSSelectorNodeLabelDoesNotMatch", "Failed to admit pod as the `kubernetes.io/os` label doesn't match node label"}
	}
	if p.Spec.OS != nil && string(p.Spec.OS.Name) != n.Labels[corev1.LabelOSStable] {
		return &Rejection{"PodOSNotSupported", "Failed to admit pod as the OS field doesn't match node OS"}
	}
	s := p.Spec.SecurityContext
	if !strings.HasPrefix(n.Status.NodeInfo.ContainerRuntimeVersion, "simulated:") && s != nil &&
		s.SupplementalGroupsPolicy != nil && *s.SupplementalGroupsPolicy == corev1.SupplementalGroupsPolicyStrict &&
		(n.Status.Features == nil || n.Status.Features.SupplementalGroupsPolicy == nil || !*n.Status.Features.SupplementalGroupsPolicy) {
		return &Rejection{"SupplementalGroupsPolicyNotSupported", "SupplementalGroupsPolicy=Strict is not supported in this node"}
	}
	return nil
}
