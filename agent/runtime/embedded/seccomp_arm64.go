package embedded

import "golang.org/x/sys/unix"

const (
	auditArch = unix.AUDIT_ARCH_AARCH64
	// foreignABI marks the system calls of another ABI; there is none.
	foreignABI = 0
)

// deniedArchCalls exist only on this architecture.
var deniedArchCalls []uint32
