package cri

import (
	"context"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// PullImage pulls an image and returns its ID. Only ctx bounds its duration.
func (c *Client) PullImage(ctx context.Context, image *cri.ImageSpec, auth *cri.AuthConfig, sandbox *cri.PodSandboxConfig) (string, error) {
	r, err := retry(ctx, c, func(ctx context.Context) (*cri.PullImageResponse, error) {
		return c.images.PullImage(ctx, &cri.PullImageRequest{Image: image, Auth: auth, SandboxConfig: sandbox})
	}, notDelivered)
	return r.GetImageRef(), err
}

// ImageStatus returns the runtime's information about an image, or nil if it does not exist.
func (c *Client) ImageStatus(ctx context.Context, image *cri.ImageSpec) (*cri.Image, error) {
	r, err := callWithRetry(ctx, c, func(ctx context.Context) (*cri.ImageStatusResponse, error) {
		return c.images.ImageStatus(ctx, &cri.ImageStatusRequest{Image: image})
	})
	return r.GetImage(), err
}

// ListImages lists all images, including untagged ones.
func (c *Client) ListImages(ctx context.Context) ([]*cri.Image, error) {
	r, err := callWithRetry(ctx, c, func(ctx context.Context) (*cri.ListImagesResponse, error) {
		return c.images.ListImages(ctx, &cri.ListImagesRequest{})
	})
	return r.GetImages(), err
}

// RemoveImage removes an image and all its tags. It succeeds if the image does not exist.
func (c *Client) RemoveImage(ctx context.Context, image *cri.ImageSpec) error {
	_, err := callOnce(ctx, c, requestTimeout, func(ctx context.Context) (*cri.RemoveImageResponse, error) {
		return c.images.RemoveImage(ctx, &cri.RemoveImageRequest{Image: image})
	})
	return err
}

// ImageFsInfo returns the file systems of images and writable layers.
func (c *Client) ImageFsInfo(ctx context.Context) (*cri.ImageFsInfoResponse, error) {
	return callWithRetry(ctx, c, func(ctx context.Context) (*cri.ImageFsInfoResponse, error) {
		return c.images.ImageFsInfo(ctx, &cri.ImageFsInfoRequest{})
	})
}
