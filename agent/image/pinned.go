package image

import (
	"slices"

	criapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// IsPinned reports whether garbage collection keeps the image although no container uses it. The runtime can pin an
// image. names pins it by its ID, a tag or a digest.
func IsPinned(i *criapi.Image, names []string) bool {
	return i.Pinned || slices.ContainsFunc(names, func(name string) bool {
		return i.Id == name || slices.Contains(i.RepoTags, name) || slices.Contains(i.RepoDigests, name)
	})
}
