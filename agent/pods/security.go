package pods

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// namespaceOptions returns which namespaces the containers share with the pod or the node.
func namespaceOptions(pod *corev1.Pod, users *cri.UserNamespace) *cri.NamespaceOption {
	n := &cri.NamespaceOption{Pid: cri.NamespaceMode_CONTAINER, UsernsOptions: users}
	if pod.Spec.ShareProcessNamespace != nil && *pod.Spec.ShareProcessNamespace {
		n.Pid = cri.NamespaceMode_POD
	}
	if pod.Spec.HostPID {
		n.Pid = cri.NamespaceMode_NODE
	}
	if pod.Spec.HostIPC {
		n.Ipc = cri.NamespaceMode_NODE
	}
	if pod.Spec.HostNetwork {
		n.Network = cri.NamespaceMode_NODE
	}
	return n
}

// sandboxSecurityContext returns the security context of a pod's sandbox. The sandbox is privileged if one of the
// containers is.
func sandboxSecurityContext(pod *corev1.Pod, users *cri.UserNamespace) *cri.LinuxSandboxSecurityContext {
	s := &cri.LinuxSandboxSecurityContext{NamespaceOptions: namespaceOptions(pod, users), Seccomp: &cri.SecurityProfile{ProfileType: cri.SecurityProfile_RuntimeDefault}}
	for _, list := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range list {
			s.Privileged = s.Privileged || isPrivileged(&list[i])
		}
	}
	sc := pod.Spec.SecurityContext
	if sc == nil {
		return s
	}
	s.RunAsUser, s.RunAsGroup = int64Value(sc.RunAsUser), int64Value(sc.RunAsGroup)
	s.SupplementalGroups = supplementalGroups(sc)
	s.SupplementalGroupsPolicy = supplementalGroupsPolicy(sc)
	return s
}

// supplementalGroups returns the pod's supplemental groups with its fsGroup.
func supplementalGroups(sc *corev1.PodSecurityContext) []int64 {
	var out []int64
	if sc.FSGroup != nil {
		out = append(out, *sc.FSGroup)
	}
	return append(out, sc.SupplementalGroups...)
}

func supplementalGroupsPolicy(sc *corev1.PodSecurityContext) cri.SupplementalGroupsPolicy {
	if p := sc.SupplementalGroupsPolicy; p != nil && *p == corev1.SupplementalGroupsPolicyStrict {
		return cri.SupplementalGroupsPolicy_Strict
	}
	return cri.SupplementalGroupsPolicy_Merge
}

func isPrivileged(c *corev1.Container) bool {
	return c.SecurityContext != nil && c.SecurityContext.Privileged != nil && *c.SecurityContext.Privileged
}

func int64Value(n *int64) *cri.Int64Value {
	if n == nil {
		return nil
	}
	return &cri.Int64Value{Value: *n}
}

// maskedPaths are paths that unprivileged containers cannot read; readonlyPaths are paths that they cannot write.
var (
	maskedPaths = []string{"/proc/asound", "/proc/acpi", "/proc/interrupts", "/proc/kcore", "/proc/keys", "/proc/latency_stats", "/proc/timer_list",
		"/proc/timer_stats", "/proc/sched_debug", "/proc/scsi", "/sys/firmware", "/sys/devices/virtual/powercap"}
	readonlyPaths = []string{"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"}
)

// containerSecurityContext returns the security context of a container for the runtime.
func (r *Runner) containerSecurityContext(pod *corev1.Pod, c *corev1.Container, users *cri.UserNamespace) *cri.LinuxContainerSecurityContext {
	s := &cri.LinuxContainerSecurityContext{NamespaceOptions: namespaceOptions(pod, users), Privileged: isPrivileged(c)}
	sc := effectiveSecurityContext(pod.Spec.SecurityContext, c.SecurityContext)
	if p := pod.Spec.SecurityContext; p != nil {
		s.SupplementalGroups, s.SupplementalGroupsPolicy = supplementalGroups(p), supplementalGroupsPolicy(p)
	}
	s.RunAsUser, s.RunAsGroup = int64Value(sc.RunAsUser), int64Value(sc.RunAsGroup)
	s.ReadonlyRootfs = sc.ReadOnlyRootFilesystem != nil && *sc.ReadOnlyRootFilesystem
	s.NoNewPrivs = sc.AllowPrivilegeEscalation != nil && !*sc.AllowPrivilegeEscalation
	if caps := sc.Capabilities; caps != nil {
		s.Capabilities = &cri.Capability{}
		for _, c := range caps.Add {
			s.Capabilities.AddCapabilities = append(s.Capabilities.AddCapabilities, string(c))
		}
		for _, c := range caps.Drop {
			s.Capabilities.DropCapabilities = append(s.Capabilities.DropCapabilities, string(c))
		}
	}
	if !s.Privileged && (sc.ProcMount == nil || *sc.ProcMount != corev1.UnmaskedProcMount) {
		s.MaskedPaths, s.ReadonlyPaths = maskedPaths, readonlyPaths
	}
	s.Seccomp = r.seccompProfile(sc.SeccompProfile, s.Privileged)
	s.Apparmor = appArmorProfile(sc.AppArmorProfile)
	if o := sc.SELinuxOptions; o != nil {
		s.SelinuxOptions = &cri.SELinuxOption{User: o.User, Role: o.Role, Type: o.Type, Level: o.Level}
	}
	return s
}

// effectiveSecurityContext returns the container's security context with defaults from the pod's.
func effectiveSecurityContext(p *corev1.PodSecurityContext, c *corev1.SecurityContext) corev1.SecurityContext {
	var out corev1.SecurityContext
	if c != nil {
		out = *c
	}
	if p == nil {
		return out
	}
	if out.RunAsUser == nil {
		out.RunAsUser = p.RunAsUser
	}
	if out.RunAsGroup == nil {
		out.RunAsGroup = p.RunAsGroup
	}
	if out.RunAsNonRoot == nil {
		out.RunAsNonRoot = p.RunAsNonRoot
	}
	if out.SeccompProfile == nil {
		out.SeccompProfile = p.SeccompProfile
	}
	if out.AppArmorProfile == nil {
		out.AppArmorProfile = p.AppArmorProfile
	}
	if out.SELinuxOptions == nil {
		out.SELinuxOptions = p.SELinuxOptions
	}
	return out
}

// seccompProfile converts a seccomp profile. nil is the default, which depends on
// Options.SeccompDefault. Privileged containers are unconfined.
func (r *Runner) seccompProfile(profile *corev1.SeccompProfile, privileged bool) *cri.SecurityProfile {
	switch {
	case privileged || profile == nil && !r.opts.SeccompDefault || profile != nil && profile.Type == corev1.SeccompProfileTypeUnconfined:
		return &cri.SecurityProfile{ProfileType: cri.SecurityProfile_Unconfined}
	case profile != nil && profile.Type == corev1.SeccompProfileTypeLocalhost && profile.LocalhostProfile != nil:
		return &cri.SecurityProfile{ProfileType: cri.SecurityProfile_Localhost, LocalhostRef: r.opts.Root + "/seccomp/" + *profile.LocalhostProfile}
	}
	return &cri.SecurityProfile{ProfileType: cri.SecurityProfile_RuntimeDefault}
}

// appArmorProfile converts a profile for the runtime.
func appArmorProfile(profile *corev1.AppArmorProfile) *cri.SecurityProfile {
	switch {
	case profile == nil:
		return nil // the runtime's default if the machine has AppArmor
	case profile.Type == corev1.AppArmorProfileTypeUnconfined:
		return &cri.SecurityProfile{ProfileType: cri.SecurityProfile_Unconfined}
	case profile.Type == corev1.AppArmorProfileTypeLocalhost && profile.LocalhostProfile != nil:
		return &cri.SecurityProfile{ProfileType: cri.SecurityProfile_Localhost, LocalhostRef: *profile.LocalhostProfile}
	}
	return &cri.SecurityProfile{ProfileType: cri.SecurityProfile_RuntimeDefault}
}

// verifyRunAsNonRoot rejects a container with runAsNonRoot that would run as root.
func verifyRunAsNonRoot(pod *corev1.Pod, c *corev1.Container, image *cri.Image) error {
	sc := effectiveSecurityContext(pod.Spec.SecurityContext, c.SecurityContext)
	if sc.RunAsNonRoot == nil || !*sc.RunAsNonRoot {
		return nil
	}
	names := fmt.Sprintf("(pod: %q, container: %s)", pod.Name+"_"+pod.Namespace+"("+string(pod.UID)+")", c.Name)
	switch {
	case sc.RunAsUser != nil && *sc.RunAsUser == 0:
		return fmt.Errorf("container's runAsUser breaks non-root policy %s", names)
	case sc.RunAsUser != nil:
		return nil
	case image.GetUid() != nil && image.GetUid().GetValue() == 0, image.GetUid() == nil && image.GetUsername() == "":
		return fmt.Errorf("container has runAsNonRoot and image will run as root %s", names)
	case image.GetUid() == nil:
		return fmt.Errorf("container has runAsNonRoot and image has non-numeric user (%s), cannot verify user is non-root %s", image.GetUsername(), names)
	}
	return nil
}

// setUserForGroup sets the image's user for a container with runAsGroup only, because CRI requires a
// user then. An image without a user runs as root.
func setUserForGroup(s *cri.LinuxContainerSecurityContext, image *cri.Image) {
	if s.RunAsGroup == nil || s.RunAsUser != nil {
		return
	}
	if image.GetUid() == nil && image.GetUsername() != "" {
		s.RunAsUsername = image.GetUsername()
		return
	}
	s.RunAsUser = &cri.Int64Value{Value: image.GetUid().GetValue()}
}

// sysctls returns the pod's sysctls by dotted name.
func sysctls(pod *corev1.Pod) map[string]string {
	if pod.Spec.SecurityContext == nil || len(pod.Spec.SecurityContext.Sysctls) == 0 {
		return nil
	}
	out := map[string]string{}
	for _, s := range pod.Spec.SecurityContext.Sysctls {
		out[strings.ReplaceAll(s.Name, "/", ".")] = s.Value
	}
	return out
}

// runtimeHandler returns the handler of the pod's runtime class, "" for the default.
func (r *Runner) runtimeHandler(ctx context.Context, pod *corev1.Pod) (string, error) {
	name := pod.Spec.RuntimeClassName
	if name == nil || *name == "" {
		return "", nil
	}
	if r.opts.Client == nil {
		return "", fmt.Errorf("runtimeClassName %q: no API server to read it from", *name)
	}
	class, err := r.opts.Client.NodeV1().RuntimeClasses().Get(ctx, *name, metav1.GetOptions{})
	if err != nil {
		return "", fmt.Errorf("runtimeClassName %q: %w", *name, err)
	}
	return class.Handler, nil
}
