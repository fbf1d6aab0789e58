package embedded

import (
	"context"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// ImageFsInfo returns the file systems of the images and of the writable layers.
func (r *Runtime) ImageFsInfo(ctx context.Context) (*cri.ImageFsInfoResponse, error) {
	info, err := r.ImageService.ImageFsInfo(ctx)
	if err != nil {
		return nil, err
	}
	info.ContainerFilesystems = []*cri.FilesystemUsage{{FsId: &cri.FilesystemIdentifier{Mountpoint: r.opts.Dir}}}
	return info, nil
}
