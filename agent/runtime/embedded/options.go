package embedded

import (
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/klog/v2"

	"github.com/berthproject/berth/agent/image/store"
)

// Options configures a Runtime. Dir and Images are required.
type Options struct {
	// Dir is the absolute path of sandboxes and containers, including writable layers. Only one
	// runtime may use it.
	Dir string
	// Images is the image store.
	Images *store.Store
	// PodCIDR is the network of the pods, for example 10.88.3.0/24. Without it only pods with the
	// host's network run, and the runtime reports its network as not ready.
	PodCIDR string
	// Bridge is the name of the network bridge: unique on the machine, at most 15 bytes. Required
	// with PodCIDR.
	Bridge string
	// StartLimit bounds the start of a container, because a volume's file system may hang. The
	// default is 2 minutes.
	StartLimit time.Duration
	Log        klog.Logger
}

func (o Options) startLimit() time.Duration {
	if o.StartLimit > 0 {
		return o.StartLimit
	}
	return 2 * time.Minute // the kubelet's timeout of runtime requests
}

// Validate returns all errors of the options.
func (o Options) Validate() error {
	var errs []error
	addError := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("embedded runtime: "+format, args...))
	}
	if !filepath.IsAbs(o.Dir) {
		addError("dir %q: must be an absolute path", o.Dir)
	}
	if o.Images == nil {
		addError("images: required")
	}
	switch prefix, err := netip.ParsePrefix(o.PodCIDR); {
	case o.PodCIDR == "" && o.Bridge != "":
		addError("bridge %q: requires podCIDR", o.Bridge)
	case o.PodCIDR == "":
	case err != nil:
		addError("podCIDR %q: must be a CIDR, for example 10.88.3.0/24", o.PodCIDR)
	case prefix.Masked() != prefix || prefix.Addr().BitLen()-prefix.Bits() < 2 || !prefix.Addr().Is4():
		addError("podCIDR %q: must be an IPv4 CIDR with at least 4 addresses and no host bits, for example 10.88.3.0/24", o.PodCIDR)
	}
	if o.PodCIDR != "" && (o.Bridge == "" || len(o.Bridge) > 15 || strings.ContainsAny(o.Bridge, "/ \t:%")) {
		addError("bridge %q: must be a network device name of 1 to 15 bytes, for example berth0", o.Bridge)
	}
	return errors.Join(errs...)
}
