package embedded

import "golang.org/x/sys/unix"

const (
	auditArch = unix.AUDIT_ARCH_X86_64
	// otherABI is the bit that marks system calls of the x32 ABI.
	otherABI = 0x40000000
)

// deniedArchCalls are the denied system calls that exist only on this architecture.
var deniedArchCalls = []uint32{unix.SYS_IOPERM, unix.SYS_IOPL, unix.SYS_USELIB, unix.SYS_USTAT, unix.SYS_SYSFS, unix.SYS__SYSCTL, unix.SYS_CREATE_MODULE,
	unix.SYS_GET_KERNEL_SYMS, unix.SYS_QUERY_MODULE, unix.SYS_MODIFY_LDT}
