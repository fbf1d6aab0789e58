package podvalidation

import (
	"fmt"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/berthproject/berth/apiserver/podvalidation/podfields"
)

// validateOperatingSystem rejects fields that the pod's operating system does not support.
func (c *podValidator) validateOperatingSystem(path *field.Path) {
	os := c.spec.OS
	if os == nil {
		return
	}
	fldPath := path.Child("os")
	switch os.Name {
	case "":
		c.required(fldPath.Child("name"), "cannot be empty")
	case corev1.Linux:
		c.forbidWindowsFields(path)
	case corev1.Windows:
		c.forbidLinuxFields(path)
	default:
		validateOneOf(&c.errorCollector, os.Name, fldPath, corev1.Linux, corev1.Windows)
	}
}

func (c *podValidator) forbidWindowsFields(path *field.Path) {
	const reason = "windows options cannot be set for a linux pod"
	if sc := c.spec.SecurityContext; sc != nil && sc.WindowsOptions != nil {
		c.forbidden(path.Child("securityContext", "windowsOptions"), reason)
	}
	podfields.EachContainer(c.spec, path, func(container *corev1.Container, containerPath *field.Path) {
		if sc := container.SecurityContext; sc != nil && sc.WindowsOptions != nil {
			c.forbidden(containerPath.Child("securityContext", "windowsOptions"), reason)
		}
	})
}

// forbidSet rejects the fields that are set, in order.
func (c *podValidator) forbidSet(path *field.Path, reason string, fields []optionalField) {
	for _, f := range fields {
		if f.set {
			c.forbidden(path.Child(f.name), reason)
		}
	}
}

// optionalField is a field and whether it is set.
type optionalField struct {
	name string
	set  bool
}

func (c *podValidator) forbidLinuxFields(path *field.Path) {
	const reason = "cannot be set for a windows pod"
	spec, sc := c.spec, podfields.Deref(c.spec.SecurityContext)
	c.forbidSet(path.Child("securityContext"), reason, []optionalField{
		{"appArmorProfile", sc.AppArmorProfile != nil},
		{"seLinuxOptions", sc.SELinuxOptions != nil},
	})
	c.forbidSet(path, reason, []optionalField{
		{"hostUsers", spec.HostUsers != nil},
		{"hostPID", spec.HostPID},
		{"hostIPC", spec.HostIPC},
	})
	c.forbidSet(path.Child("securityContext"), reason, []optionalField{
		{"seccompProfile", sc.SeccompProfile != nil},
		{"fsGroup", sc.FSGroup != nil},
		{"fsGroupChangePolicy", sc.FSGroupChangePolicy != nil},
		{"sysctls", len(sc.Sysctls) > 0},
	})
	c.forbidSet(path, reason, []optionalField{{"shareProcessNamespace", spec.ShareProcessNamespace != nil}})
	c.forbidSet(path.Child("securityContext"), reason, []optionalField{
		{"runAsUser", sc.RunAsUser != nil},
		{"runAsGroup", sc.RunAsGroup != nil},
		{"supplementalGroups", sc.SupplementalGroups != nil},
		{"supplementalGroupsPolicy", sc.SupplementalGroupsPolicy != nil},
	})
	podfields.EachContainer(spec, path, func(container *corev1.Container, containerPath *field.Path) {
		sc := podfields.Deref(container.SecurityContext)
		c.forbidSet(containerPath.Child("securityContext"), reason, []optionalField{
			{"appArmorProfile", sc.AppArmorProfile != nil},
			{"seLinuxOptions", sc.SELinuxOptions != nil},
			{"seccompProfile", sc.SeccompProfile != nil},
			{"capabilities", sc.Capabilities != nil},
			{"readOnlyRootFilesystem", sc.ReadOnlyRootFilesystem != nil},
			{"privileged", sc.Privileged != nil},
			{"allowPrivilegeEscalation", sc.AllowPrivilegeEscalation != nil},
			{"procMount", sc.ProcMount != nil},
			{"runAsUser", sc.RunAsUser != nil},
			{"runAsGroup", sc.RunAsGroup != nil},
		})
	})
}

// validateWindowsHostProcess requires that a pod with a HostProcess container has only such containers
// and uses hostNetwork.
func (c *podValidator) validateWindowsHostProcess(path *field.Path) {
	podValue := hostProcessOf(podfields.Deref(c.spec.SecurityContext).WindowsOptions)
	containers, hostProcesses := 0, 0
	podfields.EachContainer(c.spec, path, func(container *corev1.Container, containerPath *field.Path) {
		containers++
		containerValue := hostProcessOf(podfields.Deref(container.SecurityContext).WindowsOptions)
		if podValue != nil && containerValue != nil && *podValue != *containerValue {
			c.invalid(containerPath.Child("securityContext", "windowsOptions", "hostProcess"), *containerValue,
				fmt.Sprintf("pod hostProcess value must be identical if both are specified, was %v", *podValue))
		}
		if podfields.Deref(containerValue) || containerValue == nil && podfields.Deref(podValue) {
			hostProcesses++
		}
	})
	if hostProcesses == 0 {
		return
	}
	if hostProcesses != containers {
		c.invalid(path, "", "If pod contains any hostProcess containers then all containers must be HostProcess containers")
	}
	if !c.spec.HostNetwork {
		c.invalid(path.Child("hostNetwork"), false, "hostNetwork must be true if pod contains any hostProcess containers")
	}
}

// hostProcessOf returns options.HostProcess, or nil if options is nil.
func hostProcessOf(options *corev1.WindowsSecurityContextOptions) *bool {
	return podfields.Deref(options).HostProcess
}

// Limits of Windows user names and credential specs, in bytes.
const (
	maxCredentialSpecLength = 64 * 1024
	maxWindowsDomainLength  = 256
	maxWindowsUserLength    = 104
)

var (
	controlCharacters = regexp.MustCompile(`[[:cntrl:]]+`)
	windowsUser       = regexp.MustCompile(`^[^"/\\:;|=,+*?<>@\[\]]+$`)
	onlyDotsAndSpaces = regexp.MustCompile(`^[. ]+$`)
	netBIOSDomain     = regexp.MustCompile(`^[^\\/:\*\?"<>|.]{1,15}$`)
	dnsDomain         = regexp.MustCompile(`^(?i)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)
)

func (c *errorCollector) validateWindowsOptions(options *corev1.WindowsSecurityContextOptions, path *field.Path) {
	if options == nil {
		return
	}
	if name := options.GMSACredentialSpecName; name != nil {
		c.invalidEach(path.Child("gmsaCredentialSpecName"), *name, validation.IsDNS1123Subdomain(*name))
	}
	if spec := options.GMSACredentialSpec; spec != nil {
		fldPath := path.Child("gmsaCredentialSpec")
		if *spec == "" {
			c.invalid(fldPath, *spec, "gmsaCredentialSpec cannot be an empty string")
		} else if len(*spec) > maxCredentialSpecLength {
			c.invalid(fldPath, *spec, fmt.Sprintf("gmsaCredentialSpec size must be under %d KiB", maxCredentialSpecLength/1024))
		}
	}
	if user := options.RunAsUserName; user != nil {
		c.validateWindowsUserName(*user, path.Child("runAsUserName"))
	}
}

// validateWindowsUserName requires USER or DOMAIN\USER.
func (c *errorCollector) validateWindowsUserName(name string, path *field.Path) {
	parts := strings.Split(name, `\`)
	switch {
	case name == "":
		c.invalid(path, name, "runAsUserName cannot be an empty string")
		return
	case controlCharacters.MatchString(name):
		c.invalid(path, name, "runAsUserName cannot contain control characters")
		return
	case len(parts) > 2:
		c.invalid(path, name, "runAsUserName cannot contain more than one backslash")
		return
	}
	if len(parts) == 2 {
		domain := parts[0]
		if len(domain) >= maxWindowsDomainLength {
			c.invalid(path, name, fmt.Sprintf("runAsUserName's Domain length must be under %d characters", maxWindowsDomainLength))
		}
		if !netBIOSDomain.MatchString(domain) && !dnsDomain.MatchString(domain) {
			c.invalid(path, name, "runAsUserName's Domain doesn't match the NetBios nor the DNS format")
		}
	}
	user := parts[len(parts)-1]
	switch {
	case user == "":
		c.invalid(path, name, "runAsUserName's User cannot be empty")
		return
	case len(user) > maxWindowsUserLength:
		c.invalid(path, name, fmt.Sprintf("runAsUserName's User length must not be longer than %d characters", maxWindowsUserLength))
	}
	if onlyDotsAndSpaces.MatchString(user) {
		c.invalid(path, name, "runAsUserName's User cannot contain only periods or spaces")
	}
	if !windowsUser.MatchString(user) {
		c.invalid(path, name, `runAsUserName's User cannot contain the following characters: "/\:;|=,+*?<>@[]`)
	}
}
