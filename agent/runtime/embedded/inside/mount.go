package inside

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

func itoa(n int) string { return strconv.Itoa(n) }

// What is mounted, in words.
func (m *Mount) What() string {
	if m.Type == "bind" {
		return m.Source
	}
	return m.Type
}

// mount mounts it inside of root.
func (m *Mount) mount(root int) error {
	var fd int
	var err error
	file := false
	if m.Type == "bind" {
		var info syscall.Stat_t
		err := syscall.Stat(m.Source, &info)
		if err == syscall.ENOENT && m.Make {
			if err = os.MkdirAll(m.Source, 0o755); err == nil {
				err = syscall.Stat(m.Source, &info)
			}
		}
		if err != nil {
			return err
		}
		file = info.Mode&syscall.S_IFMT != syscall.S_IFDIR
		fd, err = m.tree()
	} else {
		fd, err = m.fileSystem()
	}
	if err != nil {
		return err
	}
	defer syscall.Close(fd)
	at, err := place(root, m.Target, file)
	if err != nil {
		return err
	}
	defer syscall.Close(at)
	// What this program itself reads and writes there would be somebody else's, say a pipe that is waited for.
	const proc = 0x9fa0
	var info syscall.Statfs_t
	if m.Type == "bind" && syscall.Fstatfs(at, &info) == nil && info.Type == proc {
		return &fault{"mounting " + m.What() + " at " + m.Target + ": it is inside of /proc, of which nothing may be hidden", 128}
	}
	return moveMount(fd, at)
}

// tree is what is at Source, with all that is mounted below, as a mount of its own.
func (m *Mount) tree() (int, error) {
	fd, err := openTree(m.Source)
	if err != nil {
		return -1, err
	}
	propagation := uint64(propagatePriv)
	if m.Slave {
		propagation = propagateSlave
	}
	err = mountSetattr(fd, true, mountAttr{propagation: propagation})
	if err == nil && m.Flags != 0 {
		err = mountSetattr(fd, m.Deep, mountAttr{set: m.Flags})
	}
	if err != nil {
		_ = syscall.Close(fd)
		return -1, err
	}
	return fd, nil
}

// fileSystem is a new one.
func (m *Mount) fileSystem() (int, error) {
	fs, err := call(callFsopen, bytePtr(m.Type), 1) // FSOPEN_CLOEXEC
	if err != nil {
		return -1, err
	}
	defer syscall.Close(fs)
	for _, o := range m.Options {
		name, value, isPair := strings.Cut(o, "=")
		if isPair {
			_, err = call(callFsconfig, uintptr(fs), fsconfigString, bytePtr(name), bytePtr(value), 0)
		} else {
			_, err = call(callFsconfig, uintptr(fs), fsconfigFlag, bytePtr(name), 0, 0)
		}
		if err != nil {
			return -1, wrap("option "+o, err)
		}
	}
	if _, err := call(callFsconfig, uintptr(fs), fsconfigCreate, 0, 0, 0); err != nil {
		return -1, err
	}
	return call(callFsmount, uintptr(fs), 1, uintptr(m.Flags))
}

// maxLinks is how many links that lead nowhere yet are followed to a place: the kernel's number.
const maxLinks = 40

// place opens a path inside of root, to mount at; what is missing of it is made.
func place(root int, path string, file bool) (int, error) {
	for range maxLinks {
		fd, err := openInRoot(root, path, openPath)
		if err != syscall.ENOENT {
			return fd, err
		}
		fd, next, err := build(root, path, file)
		if err != nil || next == "" {
			return fd, err
		}
		path = next
	}
	return -1, syscall.ELOOP
}

// build makes what is missing of a path. If it meets a link that leads nowhere, next is where it would lead.
func build(root int, path string, file bool) (fd int, next string, err error) {
	parent, err := openInRoot(root, "/", openPath|syscall.O_DIRECTORY)
	if err != nil {
		return -1, "", err
	}
	parts := strings.Split(strings.Trim(filepath.Clean("/"+path), "/"), "/")
	for i, name := range parts {
		at := "/" + strings.Join(parts[:i+1], "/")
		fd, err := openInRoot(root, at, openPath)
		if err == syscall.ENOENT {
			if to, err := os.Readlink("/proc/self/fd/" + itoa(parent) + "/" + name); err == nil {
				_ = syscall.Close(parent)
				if !strings.HasPrefix(to, "/") {
					to = filepath.Dir(at) + "/" + to
				}
				return -1, to + "/" + strings.Join(parts[i+1:], "/"), nil
			}
			if err = create(parent, name, file && i == len(parts)-1); err == nil {
				fd, err = openInRoot(root, at, openPath)
			}
		}
		_ = syscall.Close(parent)
		if err != nil {
			return -1, "", wrap(at, err)
		}
		parent = fd
	}
	return parent, "", nil
}

// create makes an empty directory or file in a directory.
func create(dir int, name string, file bool) error {
	if !file {
		return syscall.Mkdirat(dir, name, 0o755)
	}
	fd, err := syscall.Openat(dir, name, syscall.O_CREAT|syscall.O_EXCL|syscall.O_WRONLY|syscall.O_CLOEXEC, 0o644)
	if err == nil {
		_ = syscall.Close(fd)
	}
	return err
}
