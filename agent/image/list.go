package image

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/berthproject/berth/agent/runtime"
)

// What a node's status tells of images at most: the kubelet's nodeStatusMaxImages, and names of one image.
const (
	maxListed = 50
	maxNames  = 5
)

// List is what the node's status says of its images: the largest first, each with its digests
// and tags. The scheduler's ImageLocality reads it.
func List(ctx context.Context, service runtime.Images) ([]corev1.ContainerImage, error) {
	have, err := service.ListImages(ctx)
	if err != nil {
		return nil, fmt.Errorf("listing images: %w", err)
	}
	var out []corev1.ContainerImage
	for _, i := range have {
		names := slices.Concat(i.RepoDigests, i.RepoTags)
		if len(names) == 0 {
			names = []string{i.Id}
		}
		out = append(out, corev1.ContainerImage{Names: names[:min(len(names), maxNames)], SizeBytes: int64(i.Size)})
	}
	slices.SortStableFunc(out, func(a, b corev1.ContainerImage) int {
		return cmp.Or(cmp.Compare(b.SizeBytes, a.SizeBytes), cmp.Compare(a.Names[0], b.Names[0]))
	})
	return out[:min(len(out), maxListed)], nil
}
