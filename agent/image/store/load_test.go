package store_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/berthproject/berth/agent/image/oci"
	"github.com/berthproject/berth/agent/image/store"
	"github.com/berthproject/berth/agent/image/unpack"
)

func digestOf(data []byte) v1.Hash {
	s := sha256.Sum256(data)
	return v1.Hash{Algorithm: "sha256", Hex: hex.EncodeToString(s[:])}
}

// decompressed returns the decompressed layer, as far as it can be read.
func decompressed(layer []byte) []byte {
	z, err := gzip.NewReader(bytes.NewReader(layer))
	if err != nil {
		return layer
	}
	data, _ := io.ReadAll(z)
	return data
}

func configOf(t *testing.T, layers ...[]byte) []byte {
	t.Helper()
	c := v1.ConfigFile{Architecture: runtime.GOARCH, OS: "linux", RootFS: v1.RootFS{Type: "layers"}}
	for _, l := range layers {
		c.RootFS.DiffIDs = append(c.RootFS.DiffIDs, digestOf(decompressed(l)))
	}
	return encode(t, c)
}

func encode(t *testing.T, value any) []byte {
	t.Helper()
	data, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// dockerArchive returns an image in the format of `docker save`.
func dockerArchive(t *testing.T, layers ...[]byte) []byte {
	t.Helper()
	entries := []header{file("config.json", string(configOf(t, layers...)))}
	var names []string
	for i, l := range layers {
		names = append(names, fmt.Sprintf("%d/layer.tar", i))
		entries = append(entries, file(names[i], string(l)))
	}
	entries = append(entries, file("manifest.json", string(encode(t, []map[string]any{{"Config": "config.json", "Layers": names}}))))
	return layerOf(t, entries...)
}

// ociLayout returns an image as an OCI layout. change may modify its files.
func ociLayout(t *testing.T, layer []byte, change func(files map[string][]byte)) []byte {
	t.Helper()
	config := configOf(t, layer)
	manifest := encode(t, v1.Manifest{SchemaVersion: 2, MediaType: types.OCIManifestSchema1,
		Config: v1.Descriptor{MediaType: types.OCIConfigJSON, Digest: digestOf(config), Size: int64(len(config))},
		Layers: []v1.Descriptor{{MediaType: types.OCILayer, Digest: digestOf(layer), Size: int64(len(layer))}}})
	index := encode(t, v1.IndexManifest{SchemaVersion: 2, Manifests: []v1.Descriptor{{MediaType: types.OCIManifestSchema1, Digest: digestOf(manifest), Size: int64(len(manifest)),
		Annotations: map[string]string{"org.opencontainers.image.ref.name": "team/app:9"}}}})
	files := map[string][]byte{"index.json": index, "config": config, "manifest": manifest, "layer": layer}
	names := map[string]string{"index.json": "index.json"}
	for name, data := range files {
		if name != "index.json" {
			names[name] = "blobs/sha256/" + digestOf(data).Hex
		}
	}
	if change != nil {
		change(files)
	}
	var entries []header
	for name, data := range files {
		entries = append(entries, file(names[name], string(data)))
	}
	return layerOf(t, entries...)
}

// TestLoad checks that archives in all formats are loaded and removed completely.
func TestLoad(t *testing.T) {
	s := open(t, store.Options{})
	image := build(t, []oci.File{{Path: "/bin/app", Mode: 0o755, Data: []byte("app")}})
	path := filepath.Join(t.TempDir(), "image.tar")
	tag, err := name.NewTag("team/app:1")
	if err != nil {
		t.Fatal(err)
	}
	if err := tarball.WriteToFile(path, tag, image); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var compressed bytes.Buffer
	z := gzip.NewWriter(&compressed)
	if _, err := z.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		data []byte
		want string
	}{
		"docker save":          {data, "docker.io/team/app:1"},
		"docker save | gzip":   {compressed.Bytes(), "docker.io/team/app:1"},
		"an OCI layout":        {ociLayout(t, layerOf(t, file("a", "b")), nil), "docker.io/team/app:9"},
		"image without a name": {dockerArchive(t, layerOf(t, file("a", "b"))), "docker.io/library/given:latest"},
		"image without layers": {dockerArchive(t), "docker.io/library/given:latest"},
	} {
		t.Run(name, func(t *testing.T) {
			images, err := s.Load(t.Context(), bytes.NewReader(tc.data), "given", nil)
			if err != nil || len(images) != 1 || !slices.Equal(images[0].RepoTags, []string{tc.want}) {
				t.Fatalf("images %+v, %v, want one named %s", images, err, tc.want)
			}
			if _, err := os.Stat(images[0].LowerDirs[0]); err != nil {
				t.Error(err)
			}
			if err := s.Remove(images[0].ID); err != nil {
				t.Error(err)
			}
			checkEmpty(t, s)
		})
	}
}

// TestInvalidArchives checks that archives with wrong digests or without an image are rejected and
// leave nothing.
func TestInvalidArchives(t *testing.T) {
	s := open(t, store.Options{Limits: store.Limits{Layers: 3}})
	layer := layerOf(t, file("a", "b"))
	other := layerOf(t, file("a", "c"))
	fourLayers := make([][]byte, 4)
	for i := range fourLayers {
		fourLayers[i] = layer
	}
	layoutWith := func(name string, data []byte) []byte {
		return ociLayout(t, layer, func(files map[string][]byte) { files[name] = data })
	}
	otherPlatform := layoutWith("index.json", encode(t, v1.IndexManifest{SchemaVersion: 2, Manifests: []v1.Descriptor{{MediaType: types.OCIManifestSchema1, Digest: digestOf(layer), Platform: &v1.Platform{OS: "linux", Architecture: "s39"}}}}))
	var blobs []header
	index := encode(t, v1.IndexManifest{SchemaVersion: 2})
	for range 5 {
		blobs = append(blobs, file("blobs/sha256/"+digestOf(index).Hex, string(index)))
		index = encode(t, v1.IndexManifest{SchemaVersion: 2, Manifests: []v1.Descriptor{{MediaType: types.OCIImageIndex, Digest: digestOf(index), Size: int64(len(index))}}})
	}
	nestedIndexes := layerOf(t, append(blobs, file("index.json", string(index)))...)
	for name, tc := range map[string]struct {
		data []byte
		want string
	}{
		"another layer":           {layoutWith("layer", other), "wrong digest of the compressed layer: want"},
		"a longer layer":          {layoutWith("layer", append(bytes.Clone(layer), make([]byte, 1<<20)...)), "exceeds the announced"},
		"another configuration":   {layoutWith("config", []byte("{}")), "wrong digest: want sha256:"},
		"another manifest":        {layoutWith("manifest", []byte("{}")), "wrong digest: want sha256:"},
		"another unpacked layer":  {bytes.ReplaceAll(dockerArchive(t, layer), []byte(digestOf(layer).Hex), []byte(digestOf(other).Hex)), "wrong digest of the unpacked layer: want"},
		"a name that is too long": {layerOf(t, file(strings.Repeat("n", 5000), "")), "the archive has a name of more than 4095 bytes"},
		"no image":                {layer, "neither manifest.json (docker save) nor index.json"},
		"another platform":        {otherPlatform, "index.json: no image for linux/" + runtime.GOARCH + "; it has linux/s39"},
		"nested indexes":          {nestedIndexes, "nested too deeply: must be at most 4 levels"},
		"not a tar file":          {[]byte("hello"), "not a tar archive"},
		"another architecture":    {bytes.ReplaceAll(dockerArchive(t, layer), []byte(`"`+runtime.GOARCH+`"`), []byte(`"s39"  `)), "image is for s39"},
		"one layer with too many names": {layerOf(t, file("config.json", string(configOf(t, layer))), file("l", string(layer)), file("manifest.json",
			string(encode(t, []map[string]any{{"Config": "config.json", "Layers": slices.Repeat([]string{"l"}, 100_000)}})))), "100000 layers, the maximum is 3"},
		"too many documents": {layerOf(t, file("config.json", strings.Repeat(" ", 8<<20)), file("manifest.json",
			string(encode(t, slices.Repeat([]map[string]any{{"Config": "config.json"}}, 20))))), "manifests and configurations exceed"},
		"too many layers": {dockerArchive(t, fourLayers...), "4 layers, the maximum is 3"},
		"a missing layer": {bytes.ReplaceAll(dockerArchive(t, layer), []byte("0/layer.tar\x00"), []byte("0/layer.rat\x00")), ""}, // an anagram keeps the checksum of the tar header
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := s.Load(t.Context(), bytes.NewReader(tc.data), "given", nil); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%v, want an error with %q", err, tc.want)
			}
			checkEmpty(t, s)
		})
	}
	if _, err := s.Load(t.Context(), bytes.NewReader(dockerArchive(t, layer)), store.TestProgramImage, nil); err == nil {
		t.Error("Load replaced a built-in image, want an error")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Load(ctx, bytes.NewReader(dockerArchive(t, layer)), "given", nil); err == nil {
		t.Error("Load succeeded after cancellation, want an error")
	}
	checkEmpty(t, s)
}

// TestArchiveKeepsMinFree checks that an archive is rejected if the disk would have less free space than
// MinFree, even if the limit for images is larger.
func TestArchiveKeepsMinFree(t *testing.T) {
	s := open(t, store.Options{Limits: store.Limits{MinFree: 1 << 60}})
	if _, err := s.Load(t.Context(), bytes.NewReader(dockerArchive(t, layerOf(t, file("a", "x")))), "large", nil); !errors.Is(err, unpack.ErrTooLarge) {
		t.Errorf("Load: %v, want ErrTooLarge", err)
	}
	checkEmpty(t, s)
}

// TestIDIsNotAName checks that an ID or digest always refers to its image, and that no other image can
// be given such a name.
func TestIDIsNotAName(t *testing.T) {
	s := open(t, store.Options{})
	load := func(data []byte, name string) (store.Image, error) {
		images, err := s.Load(t.Context(), bytes.NewReader(data), name, nil)
		if err != nil {
			return store.Image{}, err
		}
		return images[0], nil
	}
	original, err := load(dockerArchive(t, layerOf(t, file("a", "b"))), "original")
	if err != nil {
		t.Fatal(err)
	}
	layer := layerOf(t, file("a", "c"))
	tagged := func(tag string) []byte {
		return layerOf(t, file("config.json", string(configOf(t, layer))), file("l", string(layer)), file("manifest.json",
			string(encode(t, []map[string]any{{"Config": "config.json", "Layers": []string{"l"}, "RepoTags": []string{"app:1", tag}}}))))
	}
	named := func(name string) []byte {
		return ociLayout(t, layer, func(files map[string][]byte) {
			tagName := strings.ReplaceAll(name, "DIGEST", digestOf(files["manifest"]).String())
			files["index.json"] = bytes.ReplaceAll(files["index.json"], []byte("team/app:9"), []byte(tagName))
		})
	}
	const id, digest = "is not a valid name, it marks an image ID", "digest does not match the archive"
	for desc, tc := range map[string]struct {
		data       []byte
		name, want string
	}{
		"an id from docker save":      {tagged(original.ID), "", id},
		"an id from an OCI layout":    {named(original.ID), "", id},
		"an id from --name":           {dockerArchive(t, layer), original.ID, id},
		"a full id":                   {dockerArchive(t, layer), "docker.io/library/" + original.ID, id},
		"a digest from docker save":   {tagged("nginx@" + original.ID), "", digest},
		"a digest from an OCI layout": {named("nginx@" + original.ID), "", digest},
		"a digest from --name":        {dockerArchive(t, layer), "nginx@" + original.ID, digest},
	} {
		if _, err := load(tc.data, tc.name); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", desc, err, tc.want)
		}
	}
	if _, err := s.Pull(t.Context(), digestOf(layer).String(), nil, nil); err == nil || !strings.Contains(err.Error(), id) {
		t.Errorf("pull by ID: %v, want %q", err, id)
	}
	if image, err := load(named("nginx@DIGEST"), ""); err != nil || len(image.RepoTags) != 1 {
		t.Errorf("digest of the layout: %v, %v, want one name", image.RepoTags, err)
	}
	// An image stored before such names were rejected.
	other, err := load(dockerArchive(t, layer), "other")
	if err != nil {
		t.Fatal(err)
	}
	index := filepath.Join(s.Dir(), "index.json")
	text, err := os.ReadFile(index)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(index, bytes.ReplaceAll(text, []byte("library/other:latest"), []byte("library/"+original.ID)), 0o644); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Acquire("container", original.ID); err != nil || got.ID != original.ID {
		t.Errorf("image %s: %s, %v, want the same ID", original.ID, got.ID, err)
	}
	if err := s.Remove(original.ID); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Resolve(other.ID); err != nil || got.ID != other.ID {
		t.Errorf("image %s after the removal of another: %v, want it to exist", other.ID, err)
	}
}
