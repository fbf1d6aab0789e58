package embedded

import (
	"context"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/berthproject/berth/agent/runtime"
)

// ImageLayers returns no layers: the store does not keep compressed layers, so the size of an image
// is its disk usage.
func (r *Runtime) ImageLayers(context.Context, string) ([]runtime.Layer, error) {
	return nil, nil
}

// ImageFsInfo returns the directory of the images, and that of the writable layers.
func (r *Runtime) ImageFsInfo(ctx context.Context) (*cri.ImageFsInfoResponse, error) {
	info, err := r.ImageService.ImageFsInfo(ctx)
	if err != nil {
		return nil, err
	}
	info.ContainerFilesystems = []*cri.FilesystemUsage{{FsId: &cri.FilesystemIdentifier{Mountpoint: r.opts.Dir}}}
	return info, nil
}
