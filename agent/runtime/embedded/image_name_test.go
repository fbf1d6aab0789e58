package embedded

import (
	"testing"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/berthproject/berth/agent/image/store"
)

// TestStatusHasImageName checks that the status of a container has its image's name, and not the ID with which the agent creates it.
func TestStatusHasImageName(t *testing.T) {
	const id = "sha256:1"
	tags, digests := []string{"docker.io/library/a:1", "docker.io/library/b:1"}, []string{"docker.io/library/a@sha256:2"}
	for name, c := range map[string]struct {
		image store.Image
		pod   string // image in the pod
		want  string
	}{
		"name of the pod": {store.Image{RepoTags: tags}, "b:1", "docker.io/library/b:1"},
		"other tag":       {store.Image{RepoTags: tags, RepoDigests: digests}, "a@sha256:2", "docker.io/library/a:1"},
		"no tag":          {store.Image{RepoDigests: digests}, "c:1", digests[0]},
		"no name":         {store.Image{}, "c:1", id},
	} {
		spec := &cri.ImageSpec{Image: id, UserSpecifiedImage: c.pod}
		record := containerRecord{ImageName: imageName(c.image, spec), Config: &cri.ContainerConfig{Image: spec}}
		if got := record.image().GetImage(); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}
