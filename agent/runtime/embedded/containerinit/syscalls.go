package containerinit

import (
	"syscall"
	"unsafe"
)

// System calls that package syscall does not have. The numbers are equal on all architectures.
const (
	callOpenTree     = 428
	callMoveMount    = 429
	callFsopen       = 430
	callFsconfig     = 431
	callFsmount      = 432
	callPidfdOpen    = 434
	callCloseRange   = 436
	callOpenat2      = 437
	callMountSetattr = 442
)

// Constants of the kernel's ABI.
const (
	atCwd            = ^uintptr(99) // AT_FDCWD, -100
	atEmptyPath      = 0x1000
	atRecursive      = 0x8000
	oPath            = 0x200000
	openTreeClone    = 1
	cloexec          = syscall.O_CLOEXEC
	moveEmptyPaths   = 0x4 | 0x40 // MOVE_MOUNT_F_EMPTY_PATH, MOVE_MOUNT_T_EMPTY_PATH
	fsopenCloexec    = 1
	fsmountCloexec   = 1
	fsconfigString   = 1
	fsconfigFlag     = 0
	fsconfigCreate   = 6
	resolveInRoot    = 0x10
	propagateSlave   = 1 << 19
	propagatePrivate = 1 << 18
	prSetDumpable    = 4
	prSetName        = 15
	prCapbsetDrop    = 24
	prSetNoNewPrivs  = 38
	prSetSeccomp     = 22
	seccompFilter    = 2
	prCapAmbient     = 47
	ambientClear     = 4
	prSetPdeathsig   = 1
)

// pin returns the address of a value for a system call. It keeps the value reachable and off the
// stack, which may move. Pinned values are never freed; the process soon executes another
// program.
func pin[T any](p *T) uintptr {
	pinned = append(pinned, p)
	return uintptr(unsafe.Pointer(p))
}

var pinned []any

// bytePtr returns the address of s as a C string, or of an empty one if s contains a NUL byte.
func bytePtr(s string) uintptr {
	b, err := syscall.BytePtrFromString(s)
	if err != nil {
		b = new(byte)
	}
	return pin(b)
}

func syscall6(number uintptr, args ...uintptr) (int, error) {
	var a [6]uintptr
	copy(a[:], args)
	r, _, errno := syscall.Syscall6(number, a[0], a[1], a[2], a[3], a[4], a[5])
	if errno != 0 {
		return -1, errno
	}
	return int(r), nil
}

func openTree(path string) (int, error) {
	return syscall6(callOpenTree, atCwd, bytePtr(path), openTreeClone|cloexec|atRecursive)
}

func moveMount(from, to int) error {
	_, err := syscall6(callMoveMount, uintptr(from), bytePtr(""), uintptr(to), bytePtr(""), moveEmptyPaths)
	return err
}

// mountAttr is the kernel's struct mount_attr.
type mountAttr struct{ set, _, propagation, _ uint64 }

// mountSetattr changes the mount that fd refers to and, if recursive is set, all mounts below it.
func mountSetattr(fd int, recursive bool, a mountAttr) error {
	flags := uintptr(atEmptyPath)
	if recursive {
		flags |= atRecursive
	}
	_, err := syscall6(callMountSetattr, uintptr(fd), bytePtr(""), flags, pin(&a), unsafe.Sizeof(a))
	return err
}

// openInRoot opens a path, resolving symlinks inside of root.
func openInRoot(root int, path string, flags uint64) (int, error) {
	how := struct{ flags, mode, resolve uint64 }{flags | cloexec, 0, resolveInRoot}
	for range 100 {
		fd, err := syscall6(callOpenat2, uintptr(root), bytePtr(path), pin(&how), unsafe.Sizeof(how))
		if err != syscall.EAGAIN && err != syscall.EINTR { // EAGAIN: concurrent rename
			return fd, err
		}
	}
	return -1, syscall.EAGAIN
}

func prctl(option int, args ...uintptr) error {
	_, err := syscall6(syscall.SYS_PRCTL, append([]uintptr{uintptr(option)}, args...)...)
	return err
}
