package embedded

import "golang.org/x/sys/unix"

const (
	machine = unix.AUDIT_ARCH_AARCH64
	foreign = 0
)

// deniedHere are calls that only this architecture has.
var deniedHere []uint32
