package containerinit

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// setupRoot creates the container's file system and makes it the root.
func (s *Spec) setupRoot() error {
	// Mounts in the container do not propagate to the host. Unmounts on the host do propagate into the container.
	if err := syscall.Mount("", "/", "", syscall.MS_SLAVE|syscall.MS_REC, ""); err != nil {
		return wrapError("making mounts slaves of the host's", err)
	}
	if err := s.Root.mount(); err != nil {
		return err
	}
	root, err := syscall.Open(s.Root.MountPoint, oPath|syscall.O_DIRECTORY|syscall.O_CLOEXEC, 0)
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
			return wrapError("creating working directory "+s.Cwd, err)
		}
		_ = syscall.Close(fd)
	}
	if err := linkDevices(root, s.Terminal); err != nil {
		return err
	}
	if err := pivotRoot(s.Root.MountPoint); err != nil {
		return err
	}
	if s.Root.Readonly {
		if err := remount("/", ReadOnly|NoDev); err != nil {
			return wrapError("making the root read-only", err)
		}
	}
	return s.maskPaths()
}

// mountNamePrefix is the prefix of the process name during a mount, which may hang if the file
// system does not respond. MountIndex reads it.
const mountNamePrefix = "berth-mount-"

// MountIndex parses the name of a process during a mount, and returns the mount's index in
// Spec.Mounts.
func MountIndex(name string) (index int, ok bool) {
	text, ok := strings.CutPrefix(name, mountNamePrefix)
	if !ok {
		return 0, false
	}
	index, err := strconv.Atoi(text)
	return index, err == nil
}

// setProcessName sets the name that ps shows and MountIndex reads.
func setProcessName(text string) { _ = prctl(prSetName, bytePtr(text)) }

// mount mounts the layers with overlayfs, read-only without Upper. The kernel accepts one page of options,
// so mount changes to the common directory of the layers and uses relative paths.
func (r *Root) mount() error {
	dirs := r.Lower
	if r.Upper != "" {
		dirs = append([]string{r.Upper, r.Work}, r.Lower...)
	}
	common := filepath.Dir(dirs[0])
	for _, p := range dirs[1:] {
		for common != "/" && !strings.HasPrefix(p, common+"/") {
			common = filepath.Dir(common)
		}
	}
	if err := syscall.Chdir(common); err != nil {
		return wrapError("entering layer directory "+common, err)
	}
	relative := func(p string) string {
		p = strings.TrimPrefix(strings.TrimPrefix(p, common), "/")
		return strings.NewReplacer(`\`, `\\`, ":", `\:`, ",", `\,`).Replace(p)
	}
	var lower []string
	for _, l := range r.Lower {
		lower = append(lower, relative(l))
	}
	options, volatile, flags := "lowerdir="+strings.Join(lower, ":"), "", uintptr(syscall.MS_NODEV|syscall.MS_RDONLY)
	if r.Upper != "" {
		// Writable layers need not survive a crash of the machine: skip syncing.
		options += ",upperdir=" + relative(r.Upper) + ",workdir=" + relative(r.Work)
		volatile, flags = ",volatile", syscall.MS_NODEV
	}
	if len(options) >= os.Getpagesize() {
		return &startError{"the image has too many layers: flatten it", 128}
	}
	err := syscall.Mount("overlay", r.MountPoint, "overlay", flags, options+volatile)
	if err == syscall.EINVAL && volatile != "" { // kernels before 5.10 do not have this option
		err = syscall.Mount("overlay", r.MountPoint, "overlay", flags, options)
	}
	return wrapError("mounting the image's layers", err)
}

// linkDevices creates the usual symlinks in /dev.
func linkDevices(root int, terminal bool) error {
	dev, err := openInRoot(root, "/dev", oPath|syscall.O_DIRECTORY)
	if err != nil {
		return wrapError("opening /dev", err)
	}
	defer syscall.Close(dev)
	dir := "/proc/self/fd/" + itoa(dev)
	for name, target := range map[string]string{"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1",
		"stderr": "/proc/self/fd/2", "ptmx": "pts/ptmx", "core": "/proc/kcore"} {
		if err := os.Symlink(target, dir+"/"+name); err != nil && !os.IsExist(err) {
			return wrapError("creating symlink /dev/"+name, err)
		}
	}
	if !terminal {
		return nil
	}
	// The terminal belongs to the host's devpts: bind it to /dev/console.
	terminalPath, err := os.Readlink("/proc/self/fd/0")
	if err != nil || !strings.HasPrefix(terminalPath, "/dev/pts/") {
		return nil
	}
	m := Mount{Type: "bind", Source: terminalPath, Target: "/dev/console"}
	return wrapError("mounting /dev/console", m.mountInto(root))
}

// pivotRoot makes a directory the root and unmounts the old root.
func pivotRoot(dir string) error {
	if err := syscall.Chdir(dir); err != nil {
		return wrapError("changing to the new root", err)
	}
	err := syscall.PivotRoot(".", ".")
	if err == syscall.EINVAL {
		// The host's root is an initramfs, which pivot_root does not support.
		if err = syscall.Mount(".", "/", "", syscall.MS_MOVE, ""); err == nil {
			if err = syscall.Chroot("."); err == nil {
				return wrapError("changing to the new root", syscall.Chdir("/"))
			}
		}
	}
	if err != nil {
		return wrapError("changing to root "+dir, err)
	}
	if err := syscall.Unmount(".", syscall.MNT_DETACH); err != nil {
		return wrapError("unmounting the host's root", err)
	}
	return wrapError("changing to the new root", syscall.Chdir("/"))
}

// maskPaths hides the masked paths and makes the read-only paths read-only.
func (s *Spec) maskPaths() error {
	for _, p := range s.MaskedPaths {
		info, err := os.Stat(p)
		if err != nil {
			continue // the path does not exist here
		}
		if info.IsDir() {
			err = syscall.Mount("tmpfs", p, "tmpfs", syscall.MS_RDONLY|syscall.MS_NODEV|syscall.MS_NOSUID|syscall.MS_NOEXEC, "size=0,nr_inodes=2")
		} else {
			err = syscall.Mount("/dev/null", p, "", syscall.MS_BIND, "")
		}
		if err != nil {
			return wrapError("masking "+p, err)
		}
	}
	for _, p := range s.ReadonlyPaths {
		if _, err := os.Stat(p); err != nil {
			continue
		}
		err := syscall.Mount(p, p, "", syscall.MS_BIND|syscall.MS_REC, "")
		if err == nil {
			err = remount(p, ReadOnly|NoSUID|NoDev|NoExec)
		}
		if err != nil {
			return wrapError("making "+p+" read-only", err)
		}
	}
	return nil
}

// remount adds mount attributes, such as ReadOnly, to the mount at path.
func remount(path string, flags uint64) error {
	fd, err := syscall.Open(path, oPath|syscall.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer syscall.Close(fd)
	return mountSetattr(fd, false, mountAttr{set: flags})
}
