package oci

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"path"
	"runtime"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// File is a regular file of an image, a symbolic link if Link is set, or a directory if Dir is set.
type File struct {
	Path string // absolute, slash-separated; parents are created
	Mode int64  // permission bits, including setuid, setgid and sticky
	Data []byte
	Link string // target of a symbolic link
	Dir  bool
}

// Spec describes an image.
type Spec struct {
	// Layers of the image, lowest first.
	Layers [][]File
	// Entrypoint, Cmd, Env (NAME=VALUE), User (a UID, or a name with an /etc/passwd) and WorkingDir
	// are the defaults of containers.
	Entrypoint, Cmd, Env []string
	User, WorkingDir     string
}

// Build builds an image for this machine's architecture.
func Build(spec Spec) (v1.Image, error) {
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err := mutate.ConfigFile(image, &v1.ConfigFile{
		Architecture: runtime.GOARCH, OS: "linux", Created: v1.Time{Time: time.Unix(0, 0).UTC()},
		RootFS: v1.RootFS{Type: "layers"},
		Config: v1.Config{Entrypoint: spec.Entrypoint, Cmd: spec.Cmd, Env: spec.Env, User: spec.User, WorkingDir: spec.WorkingDir},
	})
	if err != nil {
		return nil, err
	}
	for i, files := range spec.Layers {
		layer, err := buildLayer(files)
		if err != nil {
			return nil, fmt.Errorf("layer %d: %w", i, err)
		}
		if image, err = mutate.AppendLayers(image, layer); err != nil {
			return nil, fmt.Errorf("layer %d: %w", i, err)
		}
	}
	return image, nil
}

// buildLayer returns a layer with the files and their parent directories.
func buildLayer(files []File) (v1.Layer, error) {
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	created := map[string]bool{".": true, "/": true}
	for _, f := range files {
		if !path.IsAbs(f.Path) || path.Clean(f.Path) != f.Path || f.Path == "/" {
			return nil, fmt.Errorf("file %q: path must be absolute and clean, for example /bin/program", f.Path)
		}
		if err := makeParents(w, created, path.Dir(f.Path)); err != nil {
			return nil, err
		}
		header := &tar.Header{Typeflag: tar.TypeReg, Name: strings.TrimPrefix(f.Path, "/"), Mode: f.Mode, Size: int64(len(f.Data)), ModTime: time.Unix(0, 0)}
		switch {
		case f.Link != "":
			header.Typeflag, header.Linkname, header.Size, header.Mode = tar.TypeSymlink, f.Link, 0, 0o777
		case f.Dir:
			header.Typeflag, header.Size = tar.TypeDir, 0
			header.Name += "/"
			created[f.Path] = true
		}
		if err := w.WriteHeader(header); err != nil {
			return nil, fmt.Errorf("file %q: %w", f.Path, err)
		}
		if f.Link != "" || f.Dir {
			continue
		}
		if _, err := w.Write(f.Data); err != nil {
			return nil, fmt.Errorf("file %q: %w", f.Path, err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(buf.Bytes())), nil },
		tarball.WithMediaType(types.OCILayer), tarball.WithCompressedCaching)
}

// makeParents writes dir and its parents, once each.
func makeParents(w *tar.Writer, created map[string]bool, dir string) error {
	if created[dir] {
		return nil
	}
	if err := makeParents(w, created, path.Dir(dir)); err != nil {
		return err
	}
	created[dir] = true
	return w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: strings.TrimPrefix(dir, "/") + "/", Mode: 0o755, ModTime: time.Unix(0, 0)})
}
