package embedded

import (
	"slices"

	"github.com/distribution/reference"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/berthproject/berth/agent/image/store"
)

// imageName returns the name of a container's image that its status reports. spec has the image's ID. The name is the
// one in the pod if the image has it. Otherwise it is the image's first tag, its first digest, or "".
func imageName(image store.Image, spec *cri.ImageSpec) string {
	if named, err := reference.ParseDockerRef(spec.GetUserSpecifiedImage()); err == nil && slices.Contains(image.RepoTags, named.String()) {
		return named.String()
	}
	for _, names := range [][]string{image.RepoTags, image.RepoDigests} {
		if len(names) > 0 {
			return names[0]
		}
	}
	return ""
}

// image returns the image in the container's status.
func (r containerRecord) image() *cri.ImageSpec {
	if r.ImageName == "" { // the image has no name, or an earlier version wrote the record
		return r.Config.GetImage()
	}
	return &cri.ImageSpec{Image: r.ImageName}
}
