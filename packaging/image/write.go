package main

import (
	"archive/tar"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// write writes the image as a tar file with an OCI layout. docker and containerd read the image's name from the
// layout's annotations.
func write(index v1.ImageIndex, r release, path string) error {
	dir, err := os.MkdirTemp(filepath.Dir(path), ".image-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	target, err := layout.Write(dir, empty.Index)
	if err != nil {
		return err
	}
	err = target.AppendIndex(index, layout.WithAnnotations(map[string]string{
		"org.opencontainers.image.ref.name": r.version,
		"io.containerd.image.name":          fullName(r),
	}))
	if err != nil {
		return err
	}
	out, err := os.Create(path)
	if err != nil {
		return err
	}
	defer out.Close()
	if err := archive(os.DirFS(dir), r, out); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return out.Close()
}

// fullName returns the name of the image with registry and repository. containerd does not add the defaults of docker.
func fullName(r release) string {
	full := r.name + ":" + r.version
	if !strings.Contains(r.name, "/") {
		full = "docker.io/library/" + full
	}
	return full
}

// archive writes the files of a directory, in lexical order and with the time of the release.
func archive(dir fs.FS, r release, w io.Writer) error {
	out := tar.NewWriter(w)
	err := fs.WalkDir(dir, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		if err := out.WriteHeader(&tar.Header{Name: path, Mode: 0o644, Size: info.Size(), ModTime: r.created.UTC(), Typeflag: tar.TypeReg}); err != nil {
			return err
		}
		file, err := dir.Open(path)
		if err != nil {
			return err
		}
		defer file.Close()
		_, err = io.Copy(out, file)
		return err
	})
	if err != nil {
		return err
	}
	return out.Close()
}

// push writes the image to a registry.
func push(index v1.ImageIndex, reference string) error {
	ref, err := name.ParseReference(reference)
	if err != nil {
		return fmt.Errorf("-push: %w", err)
	}
	return remote.WriteIndex(ref, index, remote.WithAuthFromKeychain(authn.DefaultKeychain))
}
