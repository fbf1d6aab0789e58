package volume

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
)

// resolveSubPath is the part of a volume that is mounted, "" for all of it.
func resolveSubPath(m *corev1.VolumeMount, expand func(string) (string, error)) (string, error) {
	path, field := m.SubPath, "subPath"
	if m.SubPathExpr != "" {
		var err error
		field = "subPathExpr"
		if path, err = expand(m.SubPathExpr); err != nil {
			return "", fmt.Errorf("volumeMount %q: %s %q: %w", m.Name, field, m.SubPathExpr, err)
		}
		if path == "" {
			return "", fmt.Errorf("volumeMount %q: %s %q: is empty in this container's environment", m.Name, field, m.SubPathExpr)
		}
	}
	if filepath.IsAbs(path) {
		return "", fmt.Errorf("volumeMount %q: %s %q: must be relative to the volume", m.Name, field, path)
	}
	if slices.Contains(strings.Split(path, "/"), "..") {
		return "", fmt.Errorf("unable to provision SubPath `%s`: must not contain '..'", path)
	}
	return path, nil
}

// bindSubPath mounts a part of a volume where no container of the pod can exchange it
// for a link between this look at it and the runtime's, and is that place. What is missing
// is made, as directories, unless readOnly.
//
// The container's index is that of the mount in its spec. What a former run
// of the container had there is let go.
func (v *Volumes) bindSubPath(pod *corev1.Pod, container *corev1.Container, index int, m *corev1.VolumeMount, volume, sub string, readOnly bool) (string, error) {
	fail := func(err error) (string, error) {
		return "", fmt.Errorf("failed to prepare subPath for volumeMount %q of container %q: %w", m.Name, container.Name, err)
	}
	dir, err := v.podDir(pod.UID)
	if err != nil {
		return fail(err)
	}
	fd, err := openBeneath(volume, sub, readOnly)
	if err != nil {
		return fail(err)
	}
	defer unix.Close(fd)
	target := filepath.Join(dir, subPathsDir, m.Name, container.Name, strconv.Itoa(index))
	if err := unmountAndRemove(target); err != nil {
		return fail(err)
	}
	if err := makeMountTarget(fd, target); err != nil {
		return fail(err)
	}
	if err := unix.Mount(fmt.Sprintf("/proc/self/fd/%d", fd), target, "", unix.MS_BIND, ""); err != nil {
		return fail(fmt.Errorf("binding %s: %w", target, err))
	}
	if err := unix.Mount("", target, "", propagationFlags(m.MountPropagation), ""); err != nil {
		return fail(err)
	}
	return target, nil
}

// propagationFlags is how far mounts made in a bound part, or in what it is a part of, are seen.
func propagationFlags(mode *corev1.MountPropagationMode) uintptr {
	switch {
	case mode == nil:
	case *mode == corev1.MountPropagationHostToContainer:
		return unix.MS_SLAVE
	case *mode == corev1.MountPropagationBidirectional:
		return unix.MS_SHARED
	}
	return unix.MS_PRIVATE
}

// openBeneath opens a path that the kernel resolves inside of the volume and
// nowhere else.
func openBeneath(volume, sub string, readOnly bool) (int, error) {
	how := &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_MAGICLINKS}
	root, err := unix.Open(volume, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("opening the volume: %w", err)
	}
	defer unix.Close(root)
	fd, err := openRetrying(root, sub, how)
	if errors.Is(err, unix.ENOENT) && !readOnly {
		if err := mkdirBeneath(volume, sub); err != nil {
			return -1, err
		}
		fd, err = openRetrying(root, sub, how)
	}
	switch {
	case errors.Is(err, unix.EXDEV), errors.Is(err, unix.ELOOP):
		return -1, fmt.Errorf("subPath %q: leads out of the volume", sub)
	case err != nil:
		return -1, fmt.Errorf("subPath %q: %w", sub, err)
	}
	return fd, nil
}

// openRetrying tries again when the kernel could not be sure because something was renamed meanwhile.
func openRetrying(root int, sub string, how *unix.OpenHow) (fd int, err error) {
	for range 100 {
		if fd, err = unix.Openat2(root, sub, how); !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EINTR) {
			return fd, err
		}
	}
	return fd, err
}

// mkdirBeneath makes the directories of a subPath, as open to all as the volume is.
func mkdirBeneath(volume, sub string) error {
	root, err := os.OpenRoot(volume)
	if err != nil {
		return err
	}
	defer root.Close()
	info, err := root.Stat(".")
	if err != nil {
		return err
	}
	at := ""
	for part := range strings.SplitSeq(filepath.Clean(sub), "/") {
		at = filepath.Join(at, part)
		err := root.Mkdir(at, 0o750)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("failed to create subPath directory: %w", err)
		}
		if err := root.Chmod(at, info.Mode()&(fs.ModePerm|fs.ModeSetgid)); err != nil {
			return err
		}
	}
	return nil
}

// makeMountTarget makes what fd is mounted on: a directory or a file.
func makeMountTarget(fd int, target string) error {
	var s unix.Stat_t
	if err := unix.Fstat(fd, &s); err != nil {
		return err
	}
	if s.Mode&unix.S_IFMT == unix.S_IFDIR {
		return os.MkdirAll(target, 0o750)
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o750); err != nil {
		return err
	}
	return os.WriteFile(target, nil, 0o640)
}
