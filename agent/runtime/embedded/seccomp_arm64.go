package embedded

import "golang.org/x/sys/unix"

const (
	auditArch = unix.AUDIT_ARCH_AARCH64
	// otherABI is 0: there is no other ABI.
	otherABI = 0
)

// deniedArchCalls are the denied system calls that exist only on this architecture.
var deniedArchCalls []uint32
