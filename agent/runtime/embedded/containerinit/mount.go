package containerinit

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

func itoa(n int) string { return strconv.Itoa(n) }

// Describe returns the source or the file system type of the mount.
func (m *Mount) Describe() string {
	if m.Type == "bind" {
		return m.Source
	}
	return m.Type
}

// mountInto mounts m inside of the directory that root refers to.
func (m *Mount) mountInto(root int) error {
	var fd int
	var err error
	isFile := false
	switch m.Type {
	case "bind":
		fd, isFile, err = m.cloneSource()
	case "image":
		fd, isFile, err = m.cloneImage()
	default:
		fd, err = m.newFilesystem()
	}
	if err != nil {
		return err
	}
	defer syscall.Close(fd)
	mountPoint, err := openMountPoint(root, m.Target, isFile)
	if err != nil {
		return err
	}
	defer syscall.Close(mountPoint)
	// A mount below /proc could replace files that this process reads and writes, for example with a
	// pipe that blocks.
	const procSuperMagic = 0x9fa0
	var info syscall.Statfs_t
	if (m.Type == "bind" || m.Type == "image") && syscall.Fstatfs(mountPoint, &info) == nil && info.Type == procSuperMagic {
		return &startError{"mounting " + m.Describe() + " at " + m.Target + ": mounts inside of /proc are not allowed", 128}
	}
	return moveMount(fd, mountPoint)
}

// cloneSource returns a detached copy of the mount tree at Source, and whether Source is a file. If
// CreateSource is set, it creates a missing Source as a directory.
func (m *Mount) cloneSource() (fd int, isFile bool, err error) {
	var info syscall.Stat_t
	err = syscall.Stat(m.Source, &info)
	if err == syscall.ENOENT && m.CreateSource {
		if err = os.MkdirAll(m.Source, 0o755); err == nil {
			err = syscall.Stat(m.Source, &info)
		}
	}
	if err != nil {
		return -1, false, err
	}
	fd, err = m.cloneTree(m.Source)
	return fd, info.Mode&syscall.S_IFMT != syscall.S_IFDIR, err
}

// cloneTree returns a detached copy of the mount tree at a path, with the flags and propagation of m.
func (m *Mount) cloneTree(path string) (int, error) {
	fd, err := openTree(path)
	if err != nil {
		return -1, err
	}
	propagation := uint64(propagatePrivate)
	if m.Slave {
		propagation = propagateSlave
	}
	err = mountSetattr(fd, true, mountAttr{propagation: propagation})
	if err == nil && m.Flags != 0 {
		err = mountSetattr(fd, m.Recursive, mountAttr{set: m.Flags})
	}
	if err != nil {
		_ = syscall.Close(fd)
		return -1, err
	}
	return fd, nil
}

// newFilesystem returns a new detached file system.
func (m *Mount) newFilesystem() (int, error) {
	fs, err := syscall6(callFsopen, bytePtr(m.Type), fsopenCloexec)
	if err != nil {
		return -1, err
	}
	defer syscall.Close(fs)
	for _, o := range m.Options {
		name, value, isPair := strings.Cut(o, "=")
		if isPair {
			_, err = syscall6(callFsconfig, uintptr(fs), fsconfigString, bytePtr(name), bytePtr(value), 0)
		} else {
			_, err = syscall6(callFsconfig, uintptr(fs), fsconfigFlag, bytePtr(name), 0, 0)
		}
		if err != nil {
			return -1, wrapError("setting mount option "+o, err)
		}
	}
	if _, err := syscall6(callFsconfig, uintptr(fs), fsconfigCreate, 0, 0, 0); err != nil {
		return -1, err
	}
	return syscall6(callFsmount, uintptr(fs), fsmountCloexec, uintptr(m.Flags))
}

// maxSymlinks is the maximum number of dangling symlinks to follow: the kernel's limit.
const maxSymlinks = 40

// openMountPoint opens a path inside of root as a mount point and creates missing parts.
func openMountPoint(root int, path string, isFile bool) (int, error) {
	for range maxSymlinks {
		fd, err := openInRoot(root, path, oPath)
		if err != syscall.ENOENT {
			return fd, err
		}
		fd, next, err := createPath(root, path, isFile)
		if err != nil || next == "" {
			return fd, err
		}
		path = next
	}
	return -1, syscall.ELOOP
}

// createPath creates the missing parts of a path. If it finds a dangling symlink, next is the path
// with the link replaced by its target.
func createPath(root int, path string, isFile bool) (fd int, next string, err error) {
	parent, err := openInRoot(root, "/", oPath|syscall.O_DIRECTORY)
	if err != nil {
		return -1, "", err
	}
	parts := strings.Split(strings.Trim(filepath.Clean("/"+path), "/"), "/")
	for i, name := range parts {
		partial := "/" + strings.Join(parts[:i+1], "/")
		fd, err := openInRoot(root, partial, oPath)
		if err == syscall.ENOENT {
			if target, err := os.Readlink("/proc/self/fd/" + itoa(parent) + "/" + name); err == nil {
				_ = syscall.Close(parent)
				if !strings.HasPrefix(target, "/") {
					target = filepath.Dir(partial) + "/" + target
				}
				return -1, target + "/" + strings.Join(parts[i+1:], "/"), nil
			}
			if err = createEntry(parent, name, isFile && i == len(parts)-1); err == nil {
				fd, err = openInRoot(root, partial, oPath)
			}
		}
		_ = syscall.Close(parent)
		if err != nil {
			return -1, "", wrapError("opening mount target "+partial, err)
		}
		parent = fd
	}
	return parent, "", nil
}

// createEntry creates an empty directory or file.
func createEntry(dir int, name string, isFile bool) error {
	if !isFile {
		return syscall.Mkdirat(dir, name, 0o755)
	}
	fd, err := syscall.Openat(dir, name, syscall.O_CREAT|syscall.O_EXCL|syscall.O_WRONLY|syscall.O_CLOEXEC, 0o644)
	if err == nil {
		_ = syscall.Close(fd)
	}
	return err
}
