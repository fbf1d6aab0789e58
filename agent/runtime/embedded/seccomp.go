package embedded

import (
	"encoding/binary"

	"golang.org/x/sys/unix"
)

// denied are the system calls that a container may not make unless it has one of the
// capabilities: what changes the machine, reaches into the kernel, or makes
// namespaces in which more is allowed. All others are allowed: a list of
// what is allowed would break programs with each new kernel.
var denied = []struct {
	unless string // names of capabilities
	calls  []uint32
}{
	{"", append([]uint32{unix.SYS_ADD_KEY, unix.SYS_KEYCTL, unix.SYS_REQUEST_KEY, unix.SYS_USERFAULTFD, unix.SYS_NFSSERVCTL,
		unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER, unix.SYS_MOVE_PAGES, unix.SYS_REMAP_FILE_PAGES,
		unix.SYS_VMSPLICE}, deniedHere...)},
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

// newNamespaces are the flags of clone that make namespaces.
const newNamespaces = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC | unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET

// program is a seccomp filter in the making: struct sock_filter in sequence.
type program []byte

func (p *program) add(code uint16, yes, no uint8, k uint32) {
	b := binary.NativeEndian.AppendUint16(*p, code)
	*p = binary.NativeEndian.AppendUint32(append(b, yes, no), k)
}

const (
	loadWord  = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
	jumpEqual = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
	jumpAbove = unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K
	jumpBits  = unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K
	answer    = unix.BPF_RET | unix.BPF_K

	refused = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	unknown = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)

	// Offsets in struct seccomp_data.
	atNumber, atMachine, atFlags = 0, 4, 16
)

// filter is the seccomp program for a container with these capabilities.
func filter(capabilities uint64) []byte {
	var p program
	p.add(loadWord, 0, 0, atMachine)
	p.add(jumpEqual, 1, 0, machine)
	p.add(answer, 0, 0, unix.SECCOMP_RET_KILL_PROCESS)
	p.add(loadWord, 0, 0, atNumber)
	if foreign != 0 { // numbers of another calling convention
		p.add(jumpAbove, 0, 1, foreign)
		p.add(answer, 0, 0, unknown)
	}
	for _, d := range denied {
		if anyOf(d.unless, capabilities) {
			continue
		}
		for _, call := range d.calls {
			p.add(jumpEqual, 0, 1, call)
			p.add(answer, 0, 0, refused)
		}
	}
	if !anyOf("SYS_ADMIN", capabilities) {
		// The flags of clone3 cannot be looked at: without it libraries use clone.
		p.add(jumpEqual, 0, 1, unix.SYS_CLONE3)
		p.add(answer, 0, 0, unknown)
		p.add(jumpEqual, 0, 3, unix.SYS_CLONE)
		p.add(loadWord, 0, 0, atFlags)
		p.add(jumpBits, 0, 1, newNamespaces)
		p.add(answer, 0, 0, refused)
	}
	p.add(answer, 0, 0, unix.SECCOMP_RET_ALLOW)
	return p
}
