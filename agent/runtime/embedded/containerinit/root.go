package containerinit

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// setupRoot makes the container's file system the process's.
func (s *Spec) setupRoot() error {
	// What is mounted here is nobody else's, and what the host unmounts is unmounted here.
	if err := syscall.Mount("", "/", "", syscall.MS_SLAVE|syscall.MS_REC, ""); err != nil {
		return wrapError("making mounts private", err)
	}
	if err := s.Root.mount(); err != nil {
		return err
	}
	root, err := syscall.Open(s.Root.At, oPath|syscall.O_DIRECTORY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return wrapError("opening the root", err)
	}
	for i := range s.Mounts {
		m := &s.Mounts[i]
		setProcessName(mountNamePrefix + itoa(i))
		if err := m.mountInto(root); err != nil && !m.Optional {
			return wrapError("mounting "+m.Describe()+" at "+m.Target, err)
		}
	}
	setProcessName(Init)
	if s.Cwd != "" {
		fd, err := openMountPoint(root, s.Cwd, false)
		if err != nil {
			return wrapError("working directory "+s.Cwd, err)
		}
		_ = syscall.Close(fd)
	}
	if err := linkDevices(root, s.Terminal); err != nil {
		return err
	}
	if err := pivotRoot(s.Root.At); err != nil {
		return err
	}
	if s.Root.Readonly {
		if err := remount("/", ReadOnly|NoDevices); err != nil {
			return wrapError("making the root read-only", err)
		}
	}
	return s.maskPaths()
}

// mountNamePrefix begins the name that the process has while it mounts: it may never come back from a file system that does not answer.
const mountNamePrefix = "berth-mount-"

// MountIndex reads from the name of a process which of its spec's mounts it is at.
func MountIndex(name string) (index int, ok bool) {
	text, ok := strings.CutPrefix(name, mountNamePrefix)
	if !ok {
		return 0, false
	}
	index, err := strconv.Atoi(text)
	return index, err == nil
}

// setProcessName names the process, for ps and for Mounting.
func setProcessName(text string) { _ = prctl(prSetName, bytePtr(text)) }

// mount mounts layers as one. Their paths are made short, as the kernel takes one page of
// options: it is entered what they have in common.
func (r *Root) mount() error {
	all := append([]string{r.Upper, r.Work}, r.Lower...)
	common := filepath.Dir(all[0])
	for _, p := range all[1:] {
		for common != "/" && !strings.HasPrefix(p, common+"/") {
			common = filepath.Dir(common)
		}
	}
	if err := syscall.Chdir(common); err != nil {
		return wrapError("layers in "+common, err)
	}
	short := func(p string) string {
		p = strings.TrimPrefix(strings.TrimPrefix(p, common), "/")
		return strings.NewReplacer(`\`, `\\`, ":", `\:`, ",", `\,`).Replace(p)
	}
	var lower []string
	for _, l := range r.Lower {
		lower = append(lower, short(l))
	}
	options := "lowerdir=" + strings.Join(lower, ":") + ",upperdir=" + short(r.Upper) + ",workdir=" + short(r.Work)
	if len(options) >= os.Getpagesize() {
		return &startError{"the image has too many layers for one mount: flatten it", 128}
	}
	// What a container has written needs not survive the machine: nothing waits for the disk.
	err := syscall.Mount("overlay", r.At, "overlay", syscall.MS_NODEV, options+",volatile")
	if err == syscall.EINVAL {
		err = syscall.Mount("overlay", r.At, "overlay", syscall.MS_NODEV, options)
	}
	return wrapError("mounting the image's layers", err)
}

// linkDevices makes the links that programs expect in /dev.
func linkDevices(root int, terminal bool) error {
	dev, err := openInRoot(root, "/dev", oPath|syscall.O_DIRECTORY)
	if err != nil {
		return wrapError("/dev", err)
	}
	defer syscall.Close(dev)
	at := "/proc/self/fd/" + itoa(dev)
	for name, to := range map[string]string{"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1",
		"stderr": "/proc/self/fd/2", "ptmx": "pts/ptmx", "core": "/proc/kcore"} {
		if err := os.Symlink(to, at+"/"+name); err != nil && !os.IsExist(err) {
			return wrapError("/dev/"+name, err)
		}
	}
	if !terminal {
		return nil
	}
	// The terminal is one of the host's: /dev/console is it.
	from, err := os.Readlink("/proc/self/fd/0")
	if err != nil || !strings.HasPrefix(from, "/dev/pts/") {
		return nil
	}
	m := Mount{Type: "bind", Source: from, Target: "/dev/console"}
	return wrapError("/dev/console", m.mountInto(root))
}

// pivotRoot makes at the root, and lets go of the old one.
func pivotRoot(at string) error {
	if err := syscall.Chdir(at); err != nil {
		return wrapError("entering the root", err)
	}
	err := syscall.PivotRoot(".", ".")
	if err == syscall.EINVAL {
		// The host runs from its first memory file system, which cannot be pivoted from.
		if err = syscall.Mount(".", "/", "", syscall.MS_MOVE, ""); err == nil {
			if err = syscall.Chroot("."); err == nil {
				return wrapError("entering the root", syscall.Chdir("/"))
			}
		}
	}
	if err != nil {
		return wrapError("pivot_root", err)
	}
	if err := syscall.Unmount(".", syscall.MNT_DETACH); err != nil {
		return wrapError("letting go of the host's root", err)
	}
	return wrapError("entering the root", syscall.Chdir("/"))
}

// maskPaths hides what a container is not to see, and write-protects what it is not to change.
func (s *Spec) maskPaths() error {
	for _, p := range s.Masked {
		info, err := os.Stat(p)
		if err != nil {
			continue // there is no such thing here
		}
		if info.IsDir() {
			err = syscall.Mount("tmpfs", p, "tmpfs", syscall.MS_RDONLY|syscall.MS_NODEV|syscall.MS_NOSUID|syscall.MS_NOEXEC, "size=0,nr_inodes=2")
		} else {
			err = syscall.Mount("/dev/null", p, "", syscall.MS_BIND, "")
		}
		if err != nil {
			return wrapError("hiding "+p, err)
		}
	}
	for _, p := range s.Readonly {
		if _, err := os.Stat(p); err != nil {
			continue
		}
		err := syscall.Mount(p, p, "", syscall.MS_BIND|syscall.MS_REC, "")
		if err == nil {
			err = remount(p, ReadOnly|NoSetuid|NoDevices|NoPrograms)
		}
		if err != nil {
			return wrapError("making "+p+" read-only", err)
		}
	}
	return nil
}

func remount(path string, flags uint64) error {
	fd, err := syscall.Open(path, oPath|syscall.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer syscall.Close(fd)
	return mountSetattr(fd, false, mountAttr{set: flags})
}
