package image

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/berthproject/berth/agent/runtime"
)

// maxNamesPerImage is how many names of an image a node's status tells.
const maxNamesPerImage = 5

// List is what the node's status says of its images: the largest first, each with its digests
// and tags; most of them at most (nodeStatusMaxImages), all when it is negative. The scheduler's ImageLocality reads it.
func List(ctx context.Context, service runtime.Images, most int) ([]corev1.ContainerImage, error) {
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
		out = append(out, corev1.ContainerImage{Names: names[:min(len(names), maxNamesPerImage)], SizeBytes: int64(i.Size)})
	}
	slices.SortStableFunc(out, func(a, b corev1.ContainerImage) int {
		return cmp.Or(cmp.Compare(b.SizeBytes, a.SizeBytes), cmp.Compare(a.Names[0], b.Names[0]))
	})
	if most >= 0 {
		out = out[:min(len(out), most)]
	}
	return out, nil
}
