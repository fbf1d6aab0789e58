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

// resolveSubPath returns the subPath of a mount, or "" for the whole volume.
func resolveSubPath(m *corev1.VolumeMount, expand func(string) (string, error)) (string, error) {
	path, field := m.SubPath, "subPath"
	if m.SubPathExpr != "" {
		var err error
		field = "subPathExpr"
		if path, err = expand(m.SubPathExpr); err != nil {
			return "", fmt.Errorf("volumeMount %q: %s %q: %w", m.Name, field, m.SubPathExpr, err)
		}
		if path == "" {
			return "", fmt.Errorf("volumeMount %q: %s %q: expands to an empty path", m.Name, field, m.SubPathExpr)
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

// bindSubPath bind-mounts a part of a volume to a path outside of the volume and returns that path.
// Containers of the pod therefore cannot replace it with a link before the runtime mounts it.
// Missing directories are created unless readOnly.
//
// index is the index of the mount in the container's spec. bindSubPath removes a previous mount of
// that index.
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

// propagationFlags returns the mount flags for a mount propagation mode.
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

// openBeneath opens a path that the kernel resolves within the volume. It creates missing directories
// unless readOnly is set.
func openBeneath(volume, sub string, readOnly bool) (int, error) {
	how := &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_MAGICLINKS}
	root, err := unix.Open(volume, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("opening the volume: %w", err)
	}
	defer unix.Close(root)
	fd, err := openWithRetry(root, sub, how)
	if errors.Is(err, unix.ENOENT) && !readOnly {
		if err := mkdirBeneath(volume, sub); err != nil {
			return -1, err
		}
		fd, err = openWithRetry(root, sub, how)
	}
	switch {
	case errors.Is(err, unix.EXDEV), errors.Is(err, unix.ELOOP):
		return -1, fmt.Errorf("subPath %q: path leaves the volume", sub)
	case err != nil:
		return -1, fmt.Errorf("subPath %q: %w", sub, err)
	}
	return fd, nil
}

// openWithRetry retries while concurrent renames prevent the kernel from resolving safely.
func openWithRetry(root int, sub string, how *unix.OpenHow) (fd int, err error) {
	for range 100 {
		if fd, err = unix.Openat2(root, sub, how); !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EINTR) {
			return fd, err
		}
	}
	return fd, err
}

// mkdirBeneath creates the directories of a subPath with the volume's mode.
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
	path := ""
	for part := range strings.SplitSeq(filepath.Clean(sub), "/") {
		path = filepath.Join(path, part)
		err := root.Mkdir(path, 0o750)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("failed to create subPath directory: %w", err)
		}
		if err := root.Chmod(path, info.Mode()&(fs.ModePerm|fs.ModeSetgid)); err != nil {
			return err
		}
	}
	return nil
}

// makeMountTarget creates a directory if fd is one, and otherwise a file.
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
