package volume

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/berthproject/berth/agent/mounts"
	"github.com/berthproject/berth/agent/runtime"
)

// imagesDir is the directory of mounted images in a pod's volumes.
const imagesDir = "kubernetes.io~image"

// MountImage makes a pulled image the content of an image volume of a prepared pod. It is idempotent: a
// mounted image stays mounted.
func (v *Volumes) MountImage(ctx context.Context, pod *corev1.Pod, name, image string) error {
	fail := func(err error) error {
		return &Error{Reason: "FailedMount", Message: fmt.Sprintf("MountVolume.SetUp failed for volume %q : image %s: %v", name, image, err), cause: err}
	}
	p := v.findPod(pod.UID)
	dir, err := v.podDir(pod.UID)
	if err == nil && p == nil {
		err = errors.New("the pod's volumes are not prepared")
	}
	if err != nil {
		return fail(err)
	}
	p.setUpMu.Lock()
	defer p.setUpMu.Unlock()
	if p.isTornDown() {
		return fail(errors.New("the pod's volumes are already removed"))
	}
	m := mountedVolume{isImage: true, readOnly: true, image: image}
	if v.opts.ImageMounts != nil {
		// Teardown releases the mounts of a pod with this directory.
		if err := os.MkdirAll(filepath.Join(dir, "volumes", imagesDir), 0o750); err != nil {
			return fail(err)
		}
		content, err := v.opts.ImageMounts.MountsOfImage(ctx, string(pod.UID), name, image)
		if err != nil {
			return fail(err)
		}
		if len(content) > 0 {
			m.image, m.hostPath = "", filepath.Join(dir, "volumes", imagesDir, name)
			if err := mountContent(content, m.hostPath); err != nil {
				return fail(err)
			}
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.volumes[name] = m
	return nil
}

// imageMount returns the mount of an image that the runtime performs.
func imageMount(m *corev1.VolumeMount, image, sub string) *cri.Mount {
	return &cri.Mount{ContainerPath: absolutePath(m.MountPath), Image: &cri.ImageSpec{Image: image}, ImageSubPath: sub, Readonly: true,
		Propagation:       propagation(m.MountPropagation),
		RecursiveReadOnly: m.RecursiveReadOnly != nil && *m.RecursiveReadOnly == corev1.RecursiveReadOnlyEnabled}
}

// mountContent mounts the content of an image read-only at target, unless something is mounted there.
func mountContent(content []runtime.ImageMount, target string) error {
	points, err := mounts.At(target)
	if err != nil || len(points) > 0 {
		return err
	}
	if len(content) != 1 {
		return fmt.Errorf("unsupported snapshot of %d mounts, must be one", len(content))
	}
	if err := os.MkdirAll(target, 0o750); err != nil {
		return err
	}
	const flags = unix.MS_RDONLY | unix.MS_NODEV
	switch m := content[0]; m.Type {
	case "overlay":
		err = mountLayers(m.Options, target, flags)
	case "bind":
		// An image of one layer. A container with SYS_ADMIN can make a bind mount writable, but not an overlay of
		// lower layers, of which the kernel requires two.
		err = mountLayers([]string{"lowerdir=" + m.Source + ":" + target}, target, flags)
	default:
		return fmt.Errorf("unsupported snapshot of type %q, must be overlay or bind", m.Type)
	}
	if err == nil {
		err = unix.Mount("", target, "", unix.MS_PRIVATE, "")
	}
	if err != nil {
		return errors.Join(fmt.Errorf("mounting %s at %s: %w", content[0].Type, target, err), unmountAndRemove(target))
	}
	return nil
}

// mountLayers mounts the layers of an overlay. The kernel accepts one page of options, so layers are
// passed as file descriptors. It ignores writable layers.
func mountLayers(options []string, target string, flags uintptr) error {
	var out []string
	for _, o := range options {
		name, value, _ := strings.Cut(o, "=")
		switch name {
		case "lowerdir":
			var layers []string
			for dir := range strings.SplitSeq(value, ":") {
				fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
				if err != nil {
					return fmt.Errorf("layer %s: %w", dir, err)
				}
				defer unix.Close(fd)
				layers = append(layers, fmt.Sprintf("/proc/self/fd/%d", fd))
			}
			out = append(out, "lowerdir="+strings.Join(layers, ":"))
		case "index", "userxattr", "metacopy", "redirect_dir":
			out = append(out, o)
		}
	}
	return unix.Mount("overlay", target, "overlay", flags, strings.Join(out, ","))
}

// releaseImages unmounts and releases the images of a pod. dir is the pod's directory. Teardown removes
// dir only after that, so that a failed release is repeated.
func (v *Volumes) releaseImages(uid types.UID, dir string) error {
	if v.opts.ImageMounts == nil {
		return nil
	}
	dir = filepath.Join(dir, "volumes", imagesDir)
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := unmountAndRemove(filepath.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	return v.opts.ImageMounts.ReleaseImageMounts(context.Background(), string(uid))
}
