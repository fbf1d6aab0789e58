package store

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// ImageService adapts a Store to CRI's image calls, with their gRPC codes.
type ImageService struct{ Store *Store }

// PullImage pulls an image and returns its ID.
func (i ImageService) PullImage(ctx context.Context, image *cri.ImageSpec, auth *cri.AuthConfig, _ *cri.PodSandboxConfig) (string, error) {
	var a *Auth
	if auth != nil {
		a = &Auth{Username: auth.Username, Password: auth.Password, IdentityToken: auth.IdentityToken, RegistryToken: auth.RegistryToken}
	}
	pulled, err := i.Store.Pull(ctx, image.GetImage(), a, nil)
	var transportErr *transport.Error
	switch {
	case err == nil:
		return pulled.ID, nil
	case ctx.Err() != nil:
		return "", ctx.Err()
	case errors.Is(err, ErrNotFound), errors.As(err, &transportErr) && transportErr.StatusCode == http.StatusNotFound:
		return "", status.Error(codes.NotFound, err.Error())
	}
	return "", status.Error(codes.Unknown, err.Error())
}

// ImageStatus returns nil if the image does not exist.
func (i ImageService) ImageStatus(_ context.Context, image *cri.ImageSpec) (*cri.Image, error) {
	existing, err := i.Store.Resolve(image.GetImage())
	if errors.Is(err, ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, status.Error(codes.Unknown, err.Error())
	}
	return toCRI(existing), nil
}

// ListImages returns all images.
func (i ImageService) ListImages(context.Context) ([]*cri.Image, error) {
	list, err := i.Store.List()
	if err != nil {
		return nil, status.Error(codes.Unknown, err.Error())
	}
	var out []*cri.Image
	for _, image := range list {
		out = append(out, toCRI(image))
	}
	return out, nil
}

// RemoveImage removes an image with all its names.
func (i ImageService) RemoveImage(_ context.Context, image *cri.ImageSpec) error {
	existing, err := i.Store.Resolve(image.GetImage())
	if err == nil {
		err = i.Store.Remove(existing.ID)
	}
	if err == nil || errors.Is(err, ErrNotFound) {
		return nil
	}
	return status.Error(codes.Unknown, err.Error())
}

// ImageFsInfo returns the directory of the store and its usage.
func (i ImageService) ImageFsInfo(context.Context) (*cri.ImageFsInfoResponse, error) {
	u, err := i.Store.Usage()
	if err != nil {
		return nil, status.Error(codes.Unknown, err.Error())
	}
	fs := &cri.FilesystemUsage{Timestamp: time.Now().UnixNano(), FsId: &cri.FilesystemIdentifier{Mountpoint: u.Root},
		UsedBytes: &cri.UInt64Value{Value: uint64(u.Bytes)}, InodesUsed: &cri.UInt64Value{Value: uint64(u.Inodes)}}
	return &cri.ImageFsInfoResponse{ImageFilesystems: []*cri.FilesystemUsage{fs}, ContainerFilesystems: []*cri.FilesystemUsage{fs}}, nil
}

func toCRI(image Image) *cri.Image {
	out := &cri.Image{Id: image.ID, RepoTags: image.RepoTags, RepoDigests: image.RepoDigests, Size: uint64(image.Bytes), Pinned: image.Builtin,
		Spec: &cri.ImageSpec{Image: image.ID}}
	user, _, _ := strings.Cut(image.Config.User, ":")
	// The runtime treats all other values as names (containerinit.maxIDBits).
	if uid, err := strconv.ParseUint(user, 10, 31); err == nil {
		out.Uid = &cri.Int64Value{Value: int64(uid)}
	} else {
		out.Username = user
	}
	return out
}
