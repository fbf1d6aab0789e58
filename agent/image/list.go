package image

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/berthproject/berth/agent/runtime"
)

// maxNamesPerImage is the maximum number of names per image in the node status.
const maxNamesPerImage = 5

// List returns the image list of the node status, largest first. It has at most limit entries
// (nodeStatusMaxImages), or all if limit is negative. The scheduler's ImageLocality plugin reads
// it.
func List(ctx context.Context, service runtime.Images, limit int) ([]corev1.ContainerImage, error) {
	images, err := service.ListImages(ctx)
	if err != nil {
		return nil, fmt.Errorf("listing images: %w", err)
	}
	var out []corev1.ContainerImage
	for _, i := range images {
		names := slices.Concat(i.RepoDigests, i.RepoTags)
		if len(names) == 0 {
			names = []string{i.Id}
		}
		out = append(out, corev1.ContainerImage{Names: names[:min(len(names), maxNamesPerImage)], SizeBytes: int64(i.Size)})
	}
	slices.SortStableFunc(out, func(a, b corev1.ContainerImage) int {
		return cmp.Or(cmp.Compare(b.SizeBytes, a.SizeBytes), cmp.Compare(a.Names[0], b.Names[0]))
	})
	if limit >= 0 {
		out = out[:min(len(out), limit)]
	}
	return out, nil
}
