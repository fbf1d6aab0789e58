package fake

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// PutImage returns the image with the reference ref. If none exists, it adds one of size bytes.
func (s *Service) PutImage(ref string, size uint64) *cri.Image {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.putImage(ref, size)
}

func (s *Service) putImage(ref string, size uint64) *cri.Image {
	if s.images[ref] == nil {
		id := "sha256:" + s.newID()
		s.images[ref] = &cri.Image{Id: id, RepoTags: []string{ref}, RepoDigests: []string{fmt.Sprintf("%s@%s", ref, id)}, Size: size}
	}
	return s.images[ref]
}

// findImage returns an image by reference or ID, or nil. s.mu must be held.
func (s *Service) findImage(ref string) *cri.Image {
	if i := s.images[ref]; i != nil {
		return i
	}
	for _, i := range s.images {
		if i.GetId() == ref {
			return i
		}
	}
	return nil
}

// PullImage implements runtime.Images. It adds any missing image with a size of 1 MiB.
func (s *Service) PullImage(ctx context.Context, image *cri.ImageSpec, _ *cri.AuthConfig, _ *cri.PodSandboxConfig) (string, error) {
	if err := s.beginCall(ctx, "PullImage"); err != nil {
		return "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.recordCall("PullImage", image.GetImage())
	return s.putImage(image.GetImage(), 1<<20).GetId(), nil
}

// ImageStatus implements runtime.Images.
func (s *Service) ImageStatus(ctx context.Context, image *cri.ImageSpec) (*cri.Image, error) {
	if err := s.beginCall(ctx, "ImageStatus"); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.findImage(image.GetImage()), nil
}

// ListImages implements runtime.Images.
func (s *Service) ListImages(ctx context.Context) ([]*cri.Image, error) {
	if err := s.beginCall(ctx, "ListImages"); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.SortedFunc(maps.Values(s.images), func(a, b *cri.Image) int { return cmp.Compare(a.GetId(), b.GetId()) }), nil
}

// RemoveImage implements runtime.Images.
func (s *Service) RemoveImage(ctx context.Context, image *cri.ImageSpec) error {
	if err := s.beginCall(ctx, "RemoveImage"); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := s.findImage(image.GetImage()); i != nil {
		s.recordCall("RemoveImage", i.GetRepoTags()[0])
		maps.DeleteFunc(s.images, func(_ string, other *cri.Image) bool { return other == i })
	}
	return nil
}

// ImageFsInfo implements runtime.Images. It returns no file systems.
func (s *Service) ImageFsInfo(ctx context.Context) (*cri.ImageFsInfoResponse, error) {
	return &cri.ImageFsInfoResponse{}, s.beginCall(ctx, "ImageFsInfo")
}
