package inside

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// makeRoot makes the container's file system the process's.
func (s *Spec) makeRoot() error {
	// What is mounted here is nobody else's, and what the host unmounts is unmounted here.
	if err := syscall.Mount("", "/", "", syscall.MS_SLAVE|syscall.MS_REC, ""); err != nil {
		return wrap("making mounts private", err)
	}
	if err := s.Root.mount(); err != nil {
		return err
	}
	root, err := syscall.Open(s.Root.At, openPath|syscall.O_DIRECTORY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return wrap("opening the root", err)
	}
	for i := range s.Mounts {
		m := &s.Mounts[i]
		name(atMount + itoa(i))
		if err := m.mount(root); err != nil && !m.Optional {
			return wrap("mounting "+m.What()+" at "+m.Target, err)
		}
	}
	name(Init)
	if s.Cwd != "" {
		fd, err := place(root, s.Cwd, false)
		if err != nil {
			return wrap("working directory "+s.Cwd, err)
		}
		_ = syscall.Close(fd)
	}
	if err := devices(root, s.Terminal); err != nil {
		return err
	}
	if err := pivot(s.Root.At); err != nil {
		return err
	}
	if s.Root.Readonly {
		if err := remount("/", ReadOnly|NoDevices); err != nil {
			return wrap("making the root read-only", err)
		}
	}
	return s.hide()
}

// atMount begins the name that the process has while it mounts: it may never come back from a file system that does not answer.
const atMount = "berth-mount-"

// Mounting reads from the name of a process which of its spec's mounts it is at.
func Mounting(name string) (index int, ok bool) {
	text, ok := strings.CutPrefix(name, atMount)
	if !ok {
		return 0, false
	}
	index, err := strconv.Atoi(text)
	return index, err == nil
}

// name names the process, for ps and for Mounting.
func name(text string) { _ = prctl(prSetName, bytePtr(text)) }

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
		return wrap("layers in "+common, err)
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
		return &fault{"the image has too many layers for one mount: flatten it", 128}
	}
	// What a container has written needs not survive the machine: nothing waits for the disk.
	err := syscall.Mount("overlay", r.At, "overlay", syscall.MS_NODEV, options+",volatile")
	if err == syscall.EINVAL {
		err = syscall.Mount("overlay", r.At, "overlay", syscall.MS_NODEV, options)
	}
	return wrap("mounting the image's layers", err)
}

// devices makes the links that programs expect in /dev.
func devices(root int, terminal bool) error {
	dev, err := openInRoot(root, "/dev", openPath|syscall.O_DIRECTORY)
	if err != nil {
		return wrap("/dev", err)
	}
	defer syscall.Close(dev)
	at := "/proc/self/fd/" + itoa(dev)
	for name, to := range map[string]string{"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1",
		"stderr": "/proc/self/fd/2", "ptmx": "pts/ptmx", "core": "/proc/kcore"} {
		if err := os.Symlink(to, at+"/"+name); err != nil && !os.IsExist(err) {
			return wrap("/dev/"+name, err)
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
	return wrap("/dev/console", m.mount(root))
}

// pivot makes at the root, and lets go of the old one.
func pivot(at string) error {
	if err := syscall.Chdir(at); err != nil {
		return wrap("entering the root", err)
	}
	err := syscall.PivotRoot(".", ".")
	if err == syscall.EINVAL {
		// The host runs from its first memory file system, which cannot be pivoted from.
		if err = syscall.Mount(".", "/", "", syscall.MS_MOVE, ""); err == nil {
			if err = syscall.Chroot("."); err == nil {
				return wrap("entering the root", syscall.Chdir("/"))
			}
		}
	}
	if err != nil {
		return wrap("pivot_root", err)
	}
	if err := syscall.Unmount(".", syscall.MNT_DETACH); err != nil {
		return wrap("letting go of the host's root", err)
	}
	return wrap("entering the root", syscall.Chdir("/"))
}

// hide hides what a container is not to see, and write-protects what it is not to change.
func (s *Spec) hide() error {
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
			return wrap("hiding "+p, err)
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
			return wrap("making "+p+" read-only", err)
		}
	}
	return nil
}

func remount(path string, flags uint64) error {
	fd, err := syscall.Open(path, openPath|syscall.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer syscall.Close(fd)
	return mountSetattr(fd, false, mountAttr{set: flags})
}
