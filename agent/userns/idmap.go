package userns

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"syscall"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"
)

// FileSystems checks whether file systems support idmapped mounts, which show files with the IDs of
// a user namespace. It is safe for concurrent use.
type FileSystems struct {
	mu        sync.Mutex
	supported map[uint64]bool // by device; failures are not kept, because the next file system may get the same number
}

// Check returns an error that names the file system of path if it does not support idmapped mounts.
func (f *FileSystems) Check(path string) error { return f.check(path, probe) }

func (f *FileSystems) check(path string, probe func(string) error) error {
	var s unix.Stat_t
	if err := unix.Stat(path, &s); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.supported[uint64(s.Dev)] {
		return nil
	}
	switch err := probe(path); {
	case errors.Is(err, unix.EINVAL):
		return fmt.Errorf("%s: the file system %s does not support idmapped mounts", path, fileSystemType(uint64(s.Dev)))
	case err != nil:
		return fmt.Errorf("checking whether the file system of %s supports idmapped mounts: %w", path, err)
	}
	if f.supported == nil {
		f.supported = map[uint64]bool{}
	}
	f.supported[uint64(s.Dev)] = true
	return nil
}

// fileSystemType returns the type of the file system of a device, for example nfs4.
func fileSystemType(device uint64) string {
	list, _ := mountinfo.GetMounts(func(m *mountinfo.Info) (skip, stop bool) {
		same := unix.Mkdev(uint32(m.Major), uint32(m.Minor)) == device
		return !same, same
	})
	if len(list) == 0 {
		return "of the path"
	}
	return list[0].FSType
}

// probe creates an idmapped mount of path that is never attached. The error is EINVAL if the file system
// does not support it.
func probe(path string) error {
	namespace, err := newUserNamespace(Range{First: DefaultIDsPerPod, Length: DefaultIDsPerPod})
	if err != nil {
		return err
	}
	defer namespace.Close()
	tree, err := unix.OpenTree(unix.AT_FDCWD, path, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
	if err != nil {
		return fmt.Errorf("cloning the mount: %w", err)
	}
	defer unix.Close(tree)
	return unix.MountSetattr(tree, "", unix.AT_EMPTY_PATH, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_IDMAP, Userns_fd: uint64(namespace.Fd())})
}

// newUserNamespace returns a new user namespace in which the IDs from 0 on are those of r. A traced
// child holds it until it is open: the child stops before its first instruction and is killed.
func newUserNamespace(r Range) (*os.File, error) {
	runtime.LockOSThread() // the tracer is a thread
	defer runtime.UnlockOSThread()
	ids := []syscall.SysProcIDMap{{HostID: int(r.First), Size: int(r.Length)}}
	child, err := os.StartProcess("/proc/self/exe", []string{"berth-userns"}, &os.ProcAttr{
		Sys: &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER, UidMappings: ids, GidMappings: ids, Ptrace: true, Pdeathsig: syscall.SIGKILL}})
	if err != nil {
		return nil, fmt.Errorf("creating a user namespace: %w", err)
	}
	defer func() {
		_ = child.Kill()
		_, _ = child.Wait()
	}()
	return os.Open(fmt.Sprintf("/proc/%d/ns/user", child.Pid))
}
