package main

import (
	"fmt"
	"io"
	"path"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/berthproject/berth/agent/image/oci"
)

const (
	// suiteRegistry is the address at which agnhost serves the images of registryDir, with plain HTTP.
	suiteRegistry = "localhost:5000"
	// registryDir is the directory of these images in the image of agnhost.
	registryDir = "/var/registry"
)

// registryFiles returns the files with which agnhost serves an image. A tag is a file with the digest of the manifest.
func registryFiles(repository, tag string, image v1.Image) ([]oci.File, error) {
	manifest, err := image.RawManifest()
	if err != nil {
		return nil, err
	}
	digest, err := image.Digest()
	if err != nil {
		return nil, err
	}
	manifests, blobs := path.Join(registryDir, repository, "manifests"), path.Join(registryDir, repository, "blobs")
	files := []oci.File{
		{Path: path.Join(manifests, tag), Mode: 0o644, Data: []byte(digest.String())},
		{Path: digestPath(manifests, digest), Mode: 0o644, Data: manifest},
	}
	config, err := image.RawConfigFile()
	if err != nil {
		return nil, err
	}
	name, err := image.ConfigName()
	if err != nil {
		return nil, err
	}
	files = append(files, oci.File{Path: digestPath(blobs, name), Mode: 0o644, Data: config})
	layers, err := image.Layers()
	if err != nil {
		return nil, err
	}
	for i, layer := range layers {
		f, err := layerFile(blobs, layer)
		if err != nil {
			return nil, fmt.Errorf("layer %d: %w", i, err)
		}
		files = append(files, f)
	}
	return files, nil
}

// layerFile returns the file of a compressed layer.
func layerFile(dir string, layer v1.Layer) (oci.File, error) {
	digest, err := layer.Digest()
	if err != nil {
		return oci.File{}, err
	}
	compressed, err := layer.Compressed()
	if err != nil {
		return oci.File{}, err
	}
	defer compressed.Close()
	data, err := io.ReadAll(compressed)
	return oci.File{Path: digestPath(dir, digest), Mode: 0o644, Data: data}, err
}

// digestPath returns the path of the content with a digest.
func digestPath(dir string, digest v1.Hash) string {
	return path.Join(dir, digest.Algorithm, digest.Hex[:2], digest.Hex, "data")
}
