package containerinit

import "syscall"

// cloneImage mounts the layers of an image read-only at Source, an empty directory. It returns a detached clone of the
// mount or of its part SubPath. Symbolic links of the image do not leave the image.
func (m *Mount) cloneImage() (fd int, isFile bool, err error) {
	// Without a writable layer overlayfs requires two layers; the empty directory is the lowest.
	image := Root{MountPoint: m.Source, Lower: append(m.Lower[:len(m.Lower):len(m.Lower)], m.Source)}
	if err := image.mount(); err != nil {
		return -1, false, err
	}
	// The clone keeps the file system.
	defer func() { _ = syscall.Unmount(m.Source, syscall.MNT_DETACH) }()
	root, err := syscall.Open(m.Source, oPath|syscall.O_DIRECTORY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return -1, false, err
	}
	defer syscall.Close(root)
	part, err := openInRoot(root, "/"+m.SubPath, oPath)
	if err != nil {
		return -1, false, wrapError("opening subPath "+m.SubPath, err)
	}
	defer syscall.Close(part)
	var info syscall.Stat_t
	if err := syscall.Fstat(part, &info); err != nil {
		return -1, false, err
	}
	fd, err = m.cloneTree("/proc/self/fd/" + itoa(part))
	return fd, info.Mode&syscall.S_IFMT != syscall.S_IFDIR, err
}
