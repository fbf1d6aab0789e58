package embedded

import (
	"fmt"
	"slices"
	"strings"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// capabilityNames lists the capabilities in the kernel's order, without the prefix CAP_.
var capabilityNames = strings.Fields(`CHOWN DAC_OVERRIDE DAC_READ_SEARCH FOWNER FSETID KILL SETGID SETUID SETPCAP LINUX_IMMUTABLE
	NET_BIND_SERVICE NET_BROADCAST NET_ADMIN NET_RAW IPC_LOCK IPC_OWNER SYS_MODULE SYS_RAWIO SYS_CHROOT SYS_PTRACE SYS_PACCT SYS_ADMIN
	SYS_BOOT SYS_NICE SYS_RESOURCE SYS_TIME SYS_TTY_CONFIG MKNOD LEASE AUDIT_WRITE AUDIT_CONTROL SETFCAP MAC_OVERRIDE MAC_ADMIN SYSLOG
	WAKE_ALARM BLOCK_SUSPEND AUDIT_READ PERFMON BPF CHECKPOINT_RESTORE`)

// defaultCapabilities are containerd's defaults.
const defaultCapabilities = "CHOWN DAC_OVERRIDE FSETID FOWNER MKNOD NET_RAW SETGID SETUID SETFCAP SETPCAP NET_BIND_SERVICE SYS_CHROOT KILL AUDIT_WRITE"

func capabilityBit(name string) (uint64, error) {
	i := slices.Index(capabilityNames, strings.TrimPrefix(strings.ToUpper(name), "CAP_"))
	if i < 0 {
		return 0, fmt.Errorf("securityContext.capabilities: %q: must be the name of a Linux capability, for example NET_ADMIN", name)
	}
	return 1 << i, nil
}

// capabilities returns the default capabilities with the additions and drops of c, as a bit mask of the kernel's numbers.
func capabilities(c *cri.Capability) (bits uint64, err error) {
	for name := range strings.FieldsSeq(defaultCapabilities) {
		bit, err := capabilityBit(name)
		if err != nil {
			return 0, err
		}
		bits |= bit
	}
	containsALL := func(list []string) bool {
		return slices.ContainsFunc(list, func(s string) bool { return strings.EqualFold(s, "ALL") })
	}
	if containsALL(c.GetAddCapabilities()) {
		bits = 1<<len(capabilityNames) - 1
	}
	if containsALL(c.GetDropCapabilities()) {
		bits = 0
	}
	for _, change := range []struct {
		names []string
		apply func(bit uint64)
	}{
		{c.GetAddCapabilities(), func(bit uint64) { bits |= bit }},
		{c.GetDropCapabilities(), func(bit uint64) { bits &^= bit }}, // last: a drop by name takes precedence
	} {
		for _, name := range change.names {
			if strings.EqualFold(name, "ALL") {
				continue
			}
			bit, err := capabilityBit(name)
			if err != nil {
				return 0, err
			}
			change.apply(bit)
		}
	}
	return bits, nil
}

// hasAnyCapability reports whether bits contain one of the named capabilities.
func hasAnyCapability(names string, bits uint64) bool {
	return slices.ContainsFunc(strings.Fields(names), func(name string) bool {
		bit, err := capabilityBit(name)
		return err == nil && bits&bit != 0
	})
}
