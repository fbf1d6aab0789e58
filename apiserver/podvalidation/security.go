package podvalidation

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/berthproject/berth/apiserver/podvalidation/podfields"
)

func (c *podValidator) validatePodSecurityContext(path *field.Path) {
	sc := c.spec.SecurityContext
	if sc == nil {
		return
	}
	c.validateGroupID(sc.FSGroup, path.Child("fsGroup"))
	c.validateUserID(sc.RunAsUser, path.Child("runAsUser"))
	c.validateGroupID(sc.RunAsGroup, path.Child("runAsGroup"))
	for i := range sc.SupplementalGroups {
		c.validateGroupID(&sc.SupplementalGroups[i], path.Child("supplementalGroups").Index(i))
	}
	if podfields.Deref(c.spec.ShareProcessNamespace) && c.spec.HostPID {
		c.invalid(path.Child("shareProcessNamespace"), true, "ShareProcessNamespace and HostPID cannot both be enabled")
	}
	c.validateSysctls(sc.Sysctls, path.Child("sysctls"))
	if policy := sc.FSGroupChangePolicy; policy != nil {
		validateOneOf(&c.errorCollector, *policy, path.Child("fsGroupChangePolicy"), corev1.FSGroupChangeAlways, corev1.FSGroupChangeOnRootMismatch)
	}
	c.validateSeccompProfile(sc.SeccompProfile, path.Child("seccompProfile"))
	c.validateWindowsOptions(sc.WindowsOptions, path.Child("windowsOptions"))
	c.validateAppArmorProfile(sc.AppArmorProfile, path.Child("appArmorProfile"))
	if policy := sc.SupplementalGroupsPolicy; policy != nil {
		validateOneOf(&c.errorCollector, *policy, path.Child("supplementalGroupsPolicy"),
			corev1.SupplementalGroupsPolicyMerge, corev1.SupplementalGroupsPolicyStrict)
	}
	if policy := sc.SELinuxChangePolicy; policy != nil {
		validateOneOf(&c.errorCollector, *policy, path.Child("seLinuxChangePolicy"),
			corev1.SELinuxChangePolicyMountOption, corev1.SELinuxChangePolicyRecursive)
	}
}

func (c *errorCollector) validateUserID(id *int64, path *field.Path) {
	if id != nil {
		c.invalidEach(path, *id, validation.IsValidUserID(*id))
	}
}

func (c *errorCollector) validateGroupID(id *int64, path *field.Path) {
	if id != nil {
		c.invalidEach(path, *id, validation.IsValidGroupID(*id))
	}
}

func (c *podValidator) validateContainerSecurityContext(sc *corev1.SecurityContext, path *field.Path) {
	if sc == nil {
		return
	}
	c.validateUserID(sc.RunAsUser, path.Child("runAsUser"))
	c.validateGroupID(sc.RunAsGroup, path.Child("runAsGroup"))
	c.validateSeccompProfile(sc.SeccompProfile, path.Child("seccompProfile"))
	c.validateProcMount(sc.ProcMount, path.Child("procMount"))
	if sc.AllowPrivilegeEscalation != nil && !*sc.AllowPrivilegeEscalation {
		if podfields.Deref(sc.Privileged) {
			c.invalid(path, sc, "cannot set `allowPrivilegeEscalation` to false and `privileged` to true")
		}
		if sc.Capabilities != nil {
			for _, capability := range sc.Capabilities.Add {
				if capability == "CAP_SYS_ADMIN" {
					c.invalid(path, sc, "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN")
				}
			}
		}
	}
	c.validateWindowsOptions(sc.WindowsOptions, path.Child("windowsOptions"))
	c.validateAppArmorProfile(sc.AppArmorProfile, path.Child("appArmorProfile"))
}

func (c *podValidator) validateProcMount(mount *corev1.ProcMountType, path *field.Path) {
	if mount == nil {
		return
	}
	validateOneOf(&c.errorCollector, *mount, path, corev1.DefaultProcMount, corev1.UnmaskedProcMount)
	inUserNamespace := c.spec.HostUsers != nil && !*c.spec.HostUsers
	if *mount == corev1.UnmaskedProcMount && !inUserNamespace {
		c.invalid(path, *mount, "`hostUsers` must be false to use `Unmasked`")
	}
}

func (c *errorCollector) validateSeccompProfile(profile *corev1.SeccompProfile, path *field.Path) {
	if profile == nil {
		return
	}
	if profile.Type == "" {
		c.required(path.Child("type"), "type is required when seccompProfile is set")
	} else {
		validateOneOf(c, profile.Type, path.Child("type"),
			corev1.SeccompProfileTypeLocalhost, corev1.SeccompProfileTypeRuntimeDefault, corev1.SeccompProfileTypeUnconfined)
	}
	fldPath := path.Child("localhostProfile")
	switch {
	case profile.Type != corev1.SeccompProfileTypeLocalhost:
		if profile.LocalhostProfile != nil {
			c.invalid(fldPath, profile, "can only be set when seccomp type is Localhost")
		}
	case profile.LocalhostProfile == nil:
		c.required(fldPath, "must be set when seccomp type is Localhost")
	default:
		c.requireRelativePath(*profile.LocalhostProfile, fldPath)
	}
}

// maxProfileNameLength is the maximum length in bytes of the name of an AppArmor profile.
const maxProfileNameLength = 4095

func (c *errorCollector) validateAppArmorProfile(profile *corev1.AppArmorProfile, path *field.Path) {
	if profile == nil {
		return
	}
	fldPath := path.Child("localhostProfile")
	switch profile.Type {
	case corev1.AppArmorProfileTypeLocalhost:
		switch name := podfields.Deref(profile.LocalhostProfile); {
		case strings.TrimSpace(name) != name:
			c.invalid(fldPath, name, "must not be padded with whitespace")
		case name == "":
			c.required(fldPath, "must be set when AppArmor type is Localhost")
		case len(name) > maxProfileNameLength:
			c.add(field.TooLong(fldPath, name, maxProfileNameLength))
		}
	case corev1.AppArmorProfileTypeRuntimeDefault, corev1.AppArmorProfileTypeUnconfined:
		if profile.LocalhostProfile != nil {
			c.invalid(fldPath, *profile.LocalhostProfile, "can only be set when AppArmor type is Localhost")
		}
	case "":
		c.required(path.Child("type"), "type is required when appArmorProfile is set")
	default:
		validateOneOf(c, profile.Type, path.Child("type"),
			corev1.AppArmorProfileTypeLocalhost, corev1.AppArmorProfileTypeRuntimeDefault, corev1.AppArmorProfileTypeUnconfined)
	}
}

// validateHostUsers rejects host namespaces for pods with a user namespace. Two field paths are spelled as
// in kube-apiserver and not like the fields.
func (c *podValidator) validateHostUsers(path *field.Path) {
	if c.spec.HostUsers == nil || *c.spec.HostUsers {
		return
	}
	const reason = "when `pod.Spec.HostUsers` is false"
	if c.spec.HostNetwork {
		c.forbidden(path.Child("hostNetwork"), reason)
	}
	if c.spec.HostPID {
		c.forbidden(path.Child("HostPID"), reason)
	}
	if c.spec.HostIPC {
		c.forbidden(path.Child("HostIPC"), reason)
	}
	podfields.EachContainer(c.spec, path, func(container *corev1.Container, containerPath *field.Path) {
		if len(container.VolumeDevices) > 0 {
			c.forbidden(containerPath.Child("volumeDevices"), reason)
		}
	})
}
