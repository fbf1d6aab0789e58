package store

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// Load installs the images of a tar file, compressed or not, in the format of `docker save` or of an OCI layout. If the
// file has a single image without a name, the image gets the given name, which may be empty. progress may be nil.
func (s *Store) Load(ctx context.Context, file io.Reader, name string, progress Progress) ([]Image, error) {
	var err error
	if name != "" {
		if name, err = loadedName(name, v1.Hash{}); err != nil {
			return nil, err
		}
	}
	tx, err := s.begin()
	if err != nil {
		return nil, err
	}
	defer tx.end()
	a, err := newArchive(file, tx.dir, s.limits)
	if err != nil {
		return nil, err
	}
	defer a.close()
	sources, err := a.sources()
	if err != nil {
		return nil, err
	}
	var out []Image
	for i, src := range sources {
		if src.name == "" && len(sources) == 1 {
			src.name = name
		}
		image, err := s.install(ctx, src, progress)
		if err != nil {
			return out, fmt.Errorf("image %d of %d in the archive: %w", i+1, len(sources), err)
		}
		out = append(out, image)
	}
	return out, nil
}

// sources returns the images of the archive, one entry per name.
func (a *archive) sources() ([]*imageSource, error) {
	if _, ok := a.files["manifest.json"]; ok {
		return a.dockerSources()
	}
	if _, ok := a.files["index.json"]; ok {
		return a.layoutSources()
	}
	return nil, errors.New("the archive has neither manifest.json (docker save) nor index.json (OCI layout)")
}

// dockerSources reads an archive of `docker save`.
func (a *archive) dockerSources() ([]*imageSource, error) {
	data, err := a.readDocument("manifest.json")
	if err != nil {
		return nil, err
	}
	var list []struct {
		Config   string
		RepoTags []string
		Layers   []string
	}
	if err := json.Unmarshal(data, &list); err != nil {
		return nil, fmt.Errorf("manifest.json: %w", err)
	}
	var out []*imageSource
	for _, image := range list {
		if err := a.checkLayerCount(len(image.Layers)); err != nil {
			return nil, err
		}
		src := &imageSource{mediaType: types.OCIManifestSchema1}
		if src.config, err = a.readDocument(image.Config); err != nil {
			return nil, fmt.Errorf("reading the configuration: %w", err)
		}
		manifest := v1.Manifest{SchemaVersion: 2, MediaType: types.OCIManifestSchema1,
			Config: v1.Descriptor{MediaType: types.OCIConfigJSON, Size: int64(len(src.config)), Digest: digest(src.config)}, Layers: []v1.Descriptor{}}
		for _, path := range image.Layers {
			blob, err := a.layer(path)
			if err != nil {
				return nil, err
			}
			src.layers = append(src.layers, blob)
			manifest.Layers = append(manifest.Layers, v1.Descriptor{MediaType: types.OCIUncompressedLayer, Size: blob.size, Digest: blob.digest})
		}
		if src.manifest, err = json.Marshal(manifest); err != nil {
			return nil, err
		}
		if out, err = appendNamed(out, src, image.RepoTags); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// appendNamed appends the image once per name.
func appendNamed(out []*imageSource, src *imageSource, names []string) ([]*imageSource, error) {
	if len(names) == 0 {
		return append(out, src), nil
	}
	for _, n := range names {
		named := *src
		var err error
		if named.name, err = loadedName(n, v1.Hash{}); err != nil {
			return nil, err
		}
		out = append(out, &named)
	}
	return out, nil
}

// layoutSources reads an OCI layout.
func (a *archive) layoutSources() ([]*imageSource, error) {
	data, err := a.readDocument("index.json")
	if err != nil {
		return nil, err
	}
	var out []*imageSource
	if err := a.layoutIndex(data, "", 0, &out); err != nil {
		return nil, err
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("index.json: no image for linux/%s; it has %s", runtime.GOARCH, cmp.Or(strings.Join(a.platforms, ", "), "no images"))
	}
	return out, nil
}

// layoutImage reads an image of an OCI layout.
func (a *archive) layoutImage(d v1.Descriptor, data []byte, name string) (*imageSource, error) {
	var manifest v1.Manifest
	if err := json.Unmarshal(data, &manifest); err != nil {
		return nil, fmt.Errorf("manifest %s: %w", d.Digest, err)
	}
	if err := a.checkLayerCount(len(manifest.Layers)); err != nil {
		return nil, err
	}
	src := &imageSource{name: name, mediaType: d.MediaType, manifest: data}
	var err error
	if src.config, err = a.readBlob(manifest.Config.Digest); err != nil {
		return nil, fmt.Errorf("reading the configuration: %w", err)
	}
	for _, l := range manifest.Layers {
		if err := checkLayerDescriptor(l); err != nil {
			return nil, fmt.Errorf("layer %s: %w", l.Digest, err)
		}
		blob, err := a.layer(layoutBlobPath(l.Digest))
		if err != nil {
			return nil, err
		}
		blob.digest, blob.size = l.Digest, l.Size
		src.layers = append(src.layers, blob)
	}
	return src, nil
}

func layoutBlobPath(h v1.Hash) string { return "blobs/" + h.Algorithm + "/" + h.Hex }

// layoutName returns the name in an index entry: containerd's annotation, or OCI's if it is a
// full image name.
func layoutName(d v1.Descriptor) (string, error) {
	name := d.Annotations["io.containerd.image.name"]
	if ref := d.Annotations[annotationName]; name == "" && strings.ContainsAny(ref, "/:") {
		name = ref
	}
	if name == "" {
		return "", nil
	}
	return loadedName(name, d.Digest)
}

// loadedName returns the full form of a name from an archive or from the caller of Load. A digest in the name must
// equal verified.
func loadedName(name string, verified v1.Hash) (string, error) {
	full, err := fullName(name)
	if err != nil {
		return "", err
	}
	if isBuiltin(full) {
		return "", fmt.Errorf("image name %q: reserved for a built-in image", name)
	}
	if _, digest, ok := strings.Cut(full, "@"); ok && digest != verified.String() {
		return "", fmt.Errorf("image name %q: digest does not match the archive", name)
	}
	return full, checkNotID(full)
}
