package main

import (
	"bytes"
	"path"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/berthproject/berth/agent/image/oci"
)

// TestRegistryFiles checks that the tag leads to the manifest, and that all parts of the image have the path of their digest.
func TestRegistryFiles(t *testing.T) {
	image, err := oci.Build(oci.Spec{Layers: [][]oci.File{{{Path: "/a", Data: []byte("a")}}, {{Path: "/b", Data: []byte("b")}}}})
	if err != nil {
		t.Fatal(err)
	}
	files, err := registryFiles("name", "tag", image)
	if err != nil {
		t.Fatal(err)
	}
	data := map[string][]byte{}
	for _, f := range files {
		data[f.Path] = f.Data
	}
	stored := func(kind, digest string) []byte {
		algorithm, hex, _ := strings.Cut(digest, ":")
		content := data[path.Join("/var/registry/name", kind, algorithm, hex[:2], hex, "data")]
		if got, _, err := v1.SHA256(bytes.NewReader(content)); err != nil || got.String() != digest {
			t.Errorf("%s %s: content with digest %s (error %v), want its own", kind, digest, got, err)
		}
		return content
	}
	manifest, err := v1.ParseManifest(bytes.NewReader(stored("manifests", string(data["/var/registry/name/manifests/tag"]))))
	if err != nil || len(manifest.Layers) != 2 || manifest.MediaType == "" {
		t.Fatalf("got manifest %+v (error %v), want one with two layers and a media type", manifest, err)
	}
	for _, d := range []v1.Descriptor{manifest.Config, manifest.Layers[0], manifest.Layers[1]} {
		stored("blobs", d.Digest.String())
	}
	if len(files) != 5 {
		t.Errorf("got %d files, want tag, manifest, configuration and two layers", len(files))
	}
}
