//go:build linux

package disk

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	criapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/berthproject/berth/agent/image"
	"github.com/berthproject/berth/agent/runtime/cri"
)

// addImages adds the images with compressed content and unpacked layers.
func (r *reportBuilder) addImages(ctx context.Context) error {
	images, err := r.opts.Service.ListImages(ctx)
	if err != nil {
		return err
	}
	users, err := r.countUsers(ctx)
	if err != nil {
		return err
	}
	layers, imageCount, err := r.imageLayers(ctx, images)
	for _, i := range images {
		c := Consumer{Kind: Image, FileSystem: r.imageFs, Name: imageName(i), Pinned: image.IsPinned(i, r.opts.PinnedImages)}
		for _, name := range slices.Concat([]string{i.Id}, i.RepoTags, i.RepoDigests) {
			c.Users += users[name]
		}
		whole, part := int64(0), int64(0)
		for _, l := range layers[i.Id] {
			n := imageCount[l.Key]
			whole, part = whole+l.Bytes, part+l.Bytes/n
			c.Inodes += l.Inodes / n
			if n > 1 {
				c.Shared += l.Bytes
			}
		}
		compressed := int64(i.Size)
		if whole > 0 {
			// Assume that the shared part of the compressed size equals that of the unpacked size.
			compressed = int64(float64(compressed) * float64(part) / float64(whole))
		}
		c.Bytes = compressed + part
		r.Consumers = append(r.Consumers, c)
	}
	return err
}

// imageLayers returns the layers of each image, and the number of images that use each layer.
func (r *reportBuilder) imageLayers(ctx context.Context, images []*criapi.Image) (byImage map[string][]cri.Layer, imageCount map[string]int64, err error) {
	byImage, imageCount = map[string][]cri.Layer{}, map[string]int64{}
	if r.opts.Layers == nil {
		return byImage, imageCount, nil
	}
	var errs []error
	for _, i := range images {
		layers, err := r.opts.Layers.ImageLayers(ctx, i.Id)
		if status.Code(err) == codes.Unimplemented {
			return byImage, imageCount, fmt.Errorf("unpacked layers: %s", status.Convert(err).Message())
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("layers of %s: %w", imageName(i), err))
		}
		byImage[i.Id] = layers
		for _, l := range layers {
			imageCount[l.Key]++
		}
	}
	return byImage, imageCount, errors.Join(errs...)
}

// countUsers returns the number of containers by their image reference: ID, ref or name.
func (r *reportBuilder) countUsers(ctx context.Context) (map[string]int, error) {
	containers, err := r.opts.Service.ListContainers(ctx, nil)
	if err != nil {
		return nil, err
	}
	users := map[string]int{}
	for _, c := range containers {
		name := c.ImageId
		if name == "" {
			name = c.ImageRef
		}
		if name == "" {
			name = c.GetImage().GetImage()
		}
		users[name]++
	}
	return users, nil
}

// imageName returns a tag of the image, its digest if it has no tag, or its ID.
func imageName(i *criapi.Image) string {
	return slices.Concat(i.RepoTags, i.RepoDigests, []string{i.Id})[0]
}
