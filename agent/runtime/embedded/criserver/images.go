package criserver

import (
	"context"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// imageServer implements CRI's ImageService.
type imageServer struct {
	cri.UnimplementedImageServiceServer
	*Server
}

// ListImages implements cri.ImageServiceServer. A filter selects one image by any of its names.
func (s *imageServer) ListImages(ctx context.Context, req *cri.ListImagesRequest) (*cri.ListImagesResponse, error) {
	if name := req.GetFilter().GetImage().GetImage(); name != "" {
		image, err := s.runtime.ImageStatus(ctx, req.GetFilter().GetImage())
		if err != nil || image == nil {
			return &cri.ListImagesResponse{}, err
		}
		return &cri.ListImagesResponse{Images: []*cri.Image{image}}, nil
	}
	images, err := s.runtime.ListImages(ctx)
	return &cri.ListImagesResponse{Images: images}, err
}

// ImageStatus implements cri.ImageServiceServer. An unknown image is not an error.
func (s *imageServer) ImageStatus(ctx context.Context, req *cri.ImageStatusRequest) (*cri.ImageStatusResponse, error) {
	if req.GetImage().GetImage() == "" {
		return nil, requiredError("ImageStatus", "image")
	}
	image, err := s.runtime.ImageStatus(ctx, req.GetImage())
	return &cri.ImageStatusResponse{Image: image}, err
}

// PullImage implements cri.ImageServiceServer.
func (s *imageServer) PullImage(ctx context.Context, req *cri.PullImageRequest) (*cri.PullImageResponse, error) {
	if req.GetImage().GetImage() == "" {
		return nil, requiredError("PullImage", "image")
	}
	id, err := s.runtime.PullImage(ctx, req.GetImage(), req.GetAuth(), req.GetSandboxConfig())
	return &cri.PullImageResponse{ImageRef: id}, err
}

// RemoveImage implements cri.ImageServiceServer.
func (s *imageServer) RemoveImage(ctx context.Context, req *cri.RemoveImageRequest) (*cri.RemoveImageResponse, error) {
	if req.GetImage().GetImage() == "" {
		return nil, requiredError("RemoveImage", "image")
	}
	return &cri.RemoveImageResponse{}, s.runtime.RemoveImage(ctx, req.GetImage())
}

// ImageFsInfo implements cri.ImageServiceServer.
func (s *imageServer) ImageFsInfo(ctx context.Context, _ *cri.ImageFsInfoRequest) (*cri.ImageFsInfoResponse, error) {
	return s.runtime.ImageFsInfo(ctx)
}
