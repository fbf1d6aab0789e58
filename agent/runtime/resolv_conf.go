package runtime

import (
	"fmt"
	"strings"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// ResolvConf returns the resolv.conf for a DNS configuration, or "" for an empty one.
func ResolvConf(d *cri.DNSConfig) string {
	if d == nil || len(d.Servers)+len(d.Searches)+len(d.Options) == 0 {
		return ""
	}
	var b strings.Builder
	if len(d.Searches) > 0 {
		fmt.Fprintf(&b, "search %s\n", strings.Join(d.Searches, " "))
	}
	for _, s := range d.Servers {
		fmt.Fprintf(&b, "nameserver %s\n", s)
	}
	if len(d.Options) > 0 {
		fmt.Fprintf(&b, "options %s\n", strings.Join(d.Options, " "))
	}
	return b.String()
}
