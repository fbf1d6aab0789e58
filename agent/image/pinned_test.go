package image

import (
	"testing"

	criapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

func TestIsPinned(t *testing.T) {
	i := &criapi.Image{Id: "sha256:id", RepoTags: []string{"pause:1"}, RepoDigests: []string{"pause@sha256:digest"}}
	for name, want := range map[string]bool{"sha256:id": true, "pause:1": true, "pause@sha256:digest": true, "pause": false, "": false} {
		if got := IsPinned(i, []string{"other:1", name}); got != want {
			t.Errorf("with the name %q: pinned is %t, want %t", name, got, want)
		}
	}
	if !IsPinned(&criapi.Image{Id: "sha256:id", Pinned: true}, nil) {
		t.Error("an image that the runtime has pinned is not pinned, want pinned")
	}
}
