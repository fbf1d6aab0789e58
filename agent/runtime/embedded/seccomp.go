package embedded

import (
	"encoding/binary"

	"golang.org/x/sys/unix"
)

// deniedCalls are the system calls that require one of the capabilities: those that modify the
// machine, access the kernel or create namespaces. All other calls are allowed, because an allow
// list would break programs with each new kernel.
var deniedCalls = []struct {
	unless string // names of capabilities, each of which allows the calls; "" means none
	calls  []uint32
}{
	{"", append([]uint32{unix.SYS_ADD_KEY, unix.SYS_KEYCTL, unix.SYS_REQUEST_KEY, unix.SYS_USERFAULTFD, unix.SYS_NFSSERVCTL,
		unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER, unix.SYS_MOVE_PAGES, unix.SYS_REMAP_FILE_PAGES,
		unix.SYS_VMSPLICE}, deniedArchCalls...)},
	{"SYS_ADMIN", []uint32{unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_MOVE_MOUNT, unix.SYS_OPEN_TREE, unix.SYS_FSOPEN,
		unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR, unix.SYS_UNSHARE, unix.SYS_SETNS, unix.SYS_QUOTACTL,
		unix.SYS_QUOTACTL_FD, unix.SYS_LOOKUP_DCOOKIE, unix.SYS_FANOTIFY_INIT, unix.SYS_SWAPON, unix.SYS_SWAPOFF}},
	{"SYS_ADMIN BPF", []uint32{unix.SYS_BPF}},
	{"SYS_ADMIN PERFMON", []uint32{unix.SYS_PERF_EVENT_OPEN}},
	{"DAC_READ_SEARCH", []uint32{unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_NAME_TO_HANDLE_AT}},
	{"SYS_BOOT", []uint32{unix.SYS_REBOOT, unix.SYS_KEXEC_LOAD, unix.SYS_KEXEC_FILE_LOAD}},
	{"SYS_MODULE", []uint32{unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE}},
	{"SYS_PACCT", []uint32{unix.SYS_ACCT}},
	{"SYS_PTRACE", []uint32{unix.SYS_KCMP, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PIDFD_GETFD, unix.SYS_PROCESS_MADVISE}},
	{"SYS_TIME", []uint32{unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME}},
	{"SYS_NICE", []uint32{unix.SYS_MBIND, unix.SYS_SET_MEMPOLICY, unix.SYS_MIGRATE_PAGES}},
	{"SYSLOG", []uint32{unix.SYS_SYSLOG}},
}

// namespaceFlags are the clone flags that create namespaces.
const namespaceFlags = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC | unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET

// seccompProgram is an array of struct sock_filter.
type seccompProgram []byte

// emit appends an instruction.
func (p *seccompProgram) emit(code uint16, jt, jf uint8, k uint32) {
	b := binary.NativeEndian.AppendUint16(*p, code)
	*p = binary.NativeEndian.AppendUint32(append(b, jt, jf), k)
}

const (
	opLoad             = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
	opJumpEqual        = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
	opJumpGreaterEqual = unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K
	opJumpBits         = unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K
	opReturn           = unix.BPF_RET | unix.BPF_K

	retEPERM  = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	retENOSYS = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)

	// Offsets in struct seccomp_data.
	offsetNumber, offsetArch, offsetFirstArgument = 0, 4, 16
)

// seccompFilter returns the filter of a process with these capabilities, as an array of struct sock_filter.
func seccompFilter(capabilities uint64) []byte {
	var p seccompProgram
	p.emit(opLoad, 0, 0, offsetArch)
	p.emit(opJumpEqual, 1, 0, auditArch)
	p.emit(opReturn, 0, 0, unix.SECCOMP_RET_KILL_PROCESS)
	p.emit(opLoad, 0, 0, offsetNumber)
	if otherABI != 0 { // system calls of another ABI
		p.emit(opJumpGreaterEqual, 0, 1, otherABI)
		p.emit(opReturn, 0, 0, retENOSYS)
	}
	for _, d := range deniedCalls {
		if hasAnyCapability(d.unless, capabilities) {
			continue
		}
		for _, call := range d.calls {
			p.emit(opJumpEqual, 0, 1, call)
			p.emit(opReturn, 0, 0, retEPERM)
		}
	}
	// AF_VSOCK sockets reach the hypervisor, and no namespace isolates them. The kernel reads only the
	// lower half of the argument, as this filter does.
	p.emit(opJumpEqual, 0, 4, unix.SYS_SOCKET)
	p.emit(opLoad, 0, 0, offsetFirstArgument)
	p.emit(opJumpEqual, 0, 1, unix.AF_VSOCK)
	p.emit(opReturn, 0, 0, retEPERM)
	p.emit(opReturn, 0, 0, unix.SECCOMP_RET_ALLOW)
	if !hasAnyCapability("SYS_ADMIN", capabilities) {
		// A filter cannot read the flags of clone3. Without it libraries fall back to clone.
		p.emit(opJumpEqual, 0, 1, unix.SYS_CLONE3)
		p.emit(opReturn, 0, 0, retENOSYS)
		p.emit(opJumpEqual, 0, 3, unix.SYS_CLONE)
		p.emit(opLoad, 0, 0, offsetFirstArgument)
		p.emit(opJumpBits, 0, 1, namespaceFlags)
		p.emit(opReturn, 0, 0, retEPERM)
	}
	p.emit(opReturn, 0, 0, unix.SECCOMP_RET_ALLOW)
	return p
}
