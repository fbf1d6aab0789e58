package store

import (
	"context"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Names of the built-in images.
const (
	PauseImage    = "berth.dev/pause:1"
	WorkloadImage = "berth.dev/workload:1"
)

// Images is the store in CRI's terms: the image calls of runtime.Service, with the
// same meaning and gRPC codes.
type Images struct{ Store *Store }

// PullImage implements runtime.Images.
func (i Images) PullImage(ctx context.Context, image *cri.ImageSpec, auth *cri.AuthConfig, _ *cri.PodSandboxConfig) (string, error) {
	return "", errNotYet
}

// ImageStatus implements runtime.Images.
func (i Images) ImageStatus(ctx context.Context, image *cri.ImageSpec) (*cri.Image, error) {
	return nil, errNotYet
}

// ListImages implements runtime.Images.
func (i Images) ListImages(ctx context.Context) ([]*cri.Image, error) { return nil, errNotYet }

// RemoveImage implements runtime.Images.
func (i Images) RemoveImage(ctx context.Context, image *cri.ImageSpec) error { return errNotYet }

// ImageFsInfo implements runtime.Images.
func (i Images) ImageFsInfo(ctx context.Context) (*cri.ImageFsInfoResponse, error) {
	return nil, errNotYet
}
