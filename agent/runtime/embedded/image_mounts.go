package embedded

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/berthproject/berth/agent/runtime/embedded/containerinit"
)

// checkImageMount returns an error for a mount of an image that CRI does not allow.
func checkImageMount(m *cri.Mount) error {
	switch image := m.GetImage().GetImage(); {
	case image == "" && m.GetImageSubPath() != "":
		return status.Errorf(codes.InvalidArgument, "mount %s: image_sub_path %q: requires image", m.GetContainerPath(), m.GetImageSubPath())
	case image != "" && m.GetHostPath() != "":
		return status.Errorf(codes.InvalidArgument, "mount %s: host_path %q: must be empty for image %s", m.GetContainerPath(), m.GetHostPath(), image)
	case filepath.IsAbs(m.GetImageSubPath()), slices.Contains(strings.Split(m.GetImageSubPath(), "/"), ".."):
		return status.Errorf(codes.InvalidArgument, "mount %s: image_sub_path %q: must be a relative path without \"..\"", m.GetContainerPath(), m.GetImageSubPath())
	}
	return nil
}

// imageMount returns the read-only mount of an image, and keeps the image until the container is removed. The
// mount is an overlay without a writable layer, so that not even root in the container can change the image.
func (c *container) imageMount(r *Runtime, v *cri.Mount) (containerinit.Mount, error) {
	index := strconv.Itoa(slices.Index(c.record.Config.GetMounts(), v))
	image, err := r.opts.Images.Acquire(c.imageUser(index), v.GetImage().GetImage())
	if err != nil {
		return containerinit.Mount{}, withStatusCode(err)
	}
	dir := filepath.Join(c.dir, "image-"+index)
	if err := os.Mkdir(dir, 0o755); err != nil {
		return containerinit.Mount{}, err
	}
	return containerinit.Mount{Type: "image", Source: dir, Lower: image.LowerDirs, SubPath: v.GetImageSubPath(), Target: v.GetContainerPath(),
		Flags: containerinit.ReadOnly | containerinit.NoDev}, nil
}

// imageUser returns the name under which the image of a mount is acquired.
func (c *container) imageUser(index string) string { return c.record.ID + "-mount-" + index }

// releaseImageMounts releases the images that the container mounts.
func (r *Runtime) releaseImageMounts(c *container) error {
	for i, m := range c.record.Config.GetMounts() {
		if m.GetImage().GetImage() == "" {
			continue
		}
		if err := r.opts.Images.Release(c.imageUser(strconv.Itoa(i))); err != nil {
			return err
		}
	}
	return nil
}
