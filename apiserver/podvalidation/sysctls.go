package podvalidation

import (
	"fmt"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/berthproject/berth/apiserver/podvalidation/podfields"
)

// Limits of the name of a sysctl: its length in bytes, and its pattern.
const (
	maxSysctlLength = 253
	sysctlSegment   = "[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
	sysctlPattern   = "^(" + sysctlSegment + "[\\./])*" + sysctlSegment + "$"
)

var sysctlRegexp = regexp.MustCompile(sysctlPattern)

func (c *podValidator) validateSysctls(sysctls []corev1.Sysctl, path *field.Path) {
	seen := podfields.NameSet{}
	for i, sysctl := range sysctls {
		idxPath := path.Index(i).Child("name")
		switch name := sysctl.Name; {
		case name == "":
			c.required(idxPath, "")
		case len(name) > maxSysctlLength || !sysctlRegexp.MatchString(name):
			c.invalid(idxPath, name, fmt.Sprintf("must have at most %d characters and match regex %s", maxSysctlLength, sysctlPattern))
		case seen[name]:
			c.duplicate(idxPath, name)
		}
		seen.Add(sysctl.Name)
		switch {
		case c.spec.HostNetwork && isNetSysctl(sysctl.Name):
			c.invalid(idxPath, sysctl.Name, "may not be specified when 'hostNetwork' is true")
		case c.spec.HostIPC && isIPCSysctl(sysctl.Name):
			c.invalid(idxPath, sysctl.Name, "may not be specified when 'hostIPC' is true")
		}
	}
}

// dottedSysctl returns the name with dots as separators. The first of "." and "/" in a name is its
// separator.
func dottedSysctl(name string) string {
	first := strings.IndexAny(name, "./")
	if first < 0 || name[first] == '.' {
		return name
	}
	return strings.NewReplacer("/", ".", ".", "/").Replace(name)
}

func isNetSysctl(name string) bool { return strings.HasPrefix(dottedSysctl(name), "net.") }

func isIPCSysctl(name string) bool {
	name = dottedSysctl(name)
	for _, prefix := range []string{"kernel.shm", "kernel.msg", "fs.mqueue."} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return name == "kernel.sem"
}
