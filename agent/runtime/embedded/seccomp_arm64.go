package embedded

import "golang.org/x/sys/unix"

const (
	machine = unix.AUDIT_ARCH_AARCH64
	foreign = 0
)

// deniedArchCalls exist only on this architecture.
var deniedHere []uint32
