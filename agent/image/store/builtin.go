package store

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/berthproject/berth/agent/image/unpack"
	"github.com/berthproject/berth/agent/runtime/pause"
)

// Names of the built-in images.
const (
	// PauseImage does nothing; it is the image of sandboxes.
	PauseImage = "berth.dev/pause:1"
	// TestProgramImage is agent/testprogram, built from the running binary. The binary must link
	// that package, whose init function runs the test program if the process is named "workload".
	TestProgramImage = "berth.dev/workload:1"
)

func isBuiltin(full string) bool { return full == PauseImage || full == TestProgramImage }

// EnsureBuiltin builds PauseImage and TestProgramImage unless they exist and match the running
// binary.
func (s *Store) EnsureBuiltin(ctx context.Context) error {
	if s.builtin != nil {
		return s.builtin.EnsureBuiltin(ctx)
	}
	unlock, err := s.layers.lock(ctx, "built-in")
	if err != nil {
		return err
	}
	defer unlock()
	if err := s.ensurePauseImage(); err != nil {
		return fmt.Errorf("image %s: %w", PauseImage, err)
	}
	if err := s.ensureTestProgramImage(); err != nil {
		return fmt.Errorf("image %s: %w", TestProgramImage, err)
	}
	return nil
}

func (s *Store) ensurePauseImage() error {
	program, err := pause.Program()
	if err != nil {
		return nil // this architecture has no pause program, and no runtime that needs one
	}
	return s.buildImage(PauseImage, fmt.Sprintf("%x", sha256.Sum256(program)), v1.Config{Entrypoint: []string{"/pause"}},
		func() ([]file, error) { return []file{{path: "/pause", mode: 0o755, data: program}}, nil })
}

func (s *Store) ensureTestProgramImage() error {
	info, err := os.Stat(selfExe)
	if err != nil {
		return err
	}
	config := v1.Config{Entrypoint: []string{"/workload"}, Env: []string{"PATH=/"}, WorkingDir: "/"}
	return s.buildImage(TestProgramImage, fileIdentity(info), config, func() ([]file, error) {
		libraries, err := sharedLibraries()
		return append([]file{
			{path: "/etc/group", mode: 0o644, data: []byte("root:x:0:\nnogroup:x:65534:\n")},
			{path: "/etc/passwd", mode: 0o644, data: []byte("root:x:0:0:root:/:/workload\nnonroot:x:65534:65534:nonroot:/:/workload\n")},
			{path: "/tmp", mode: 0o777 | fs.ModeDir | fs.ModeSticky},
			{path: "/workload", mode: 0o755, from: selfExe},
		}, libraries...), err
	})
}

// buildImage builds an image with a single layer, unless the existing one is from the same
// source.
func (s *Store) buildImage(name, source string, config v1.Config, files func() ([]file, error)) error {
	if s.isBuiltFrom(name, source) {
		return nil
	}
	list, err := files()
	if err != nil {
		return err
	}
	sum := sha256.New()
	if err := writeTar(sum, list); err != nil {
		return err
	}
	diffID := v1.Hash{Algorithm: "sha256", Hex: hex.EncodeToString(sum.Sum(nil))}
	tx, err := s.begin()
	if err != nil {
		return err
	}
	defer tx.end()
	dir, root, err := tx.newLayerDir()
	if err != nil {
		return err
	}
	size, err := writeFiles(root, list)
	if err != nil {
		return err
	}
	if err := tx.commitLayer(dir, layer{DiffID: diffID, Size: size, Source: source}); err != nil {
		return err
	}
	document, err := json.Marshal(v1.ConfigFile{Architecture: runtime.GOARCH, OS: "linux", Created: v1.Time{Time: time.Unix(0, 0).UTC()},
		Config: config, RootFS: v1.RootFS{Type: "layers", DiffIDs: []v1.Hash{diffID}}})
	if err != nil {
		return err
	}
	manifest, err := json.Marshal(v1.Manifest{SchemaVersion: 2, MediaType: types.OCIManifestSchema1,
		Config: v1.Descriptor{MediaType: types.OCIConfigJSON, Size: int64(len(document)), Digest: digest(document)},
		Layers: []v1.Descriptor{{MediaType: types.OCIUncompressedLayer, Digest: diffID, Size: size.Bytes}}})
	if err != nil {
		return err
	}
	if err := tx.stage(manifest, document); err != nil {
		return err
	}
	if err := syncFileSystem(s.dir); err != nil { // after a power failure, the index must refer only to complete files
		return err
	}
	if _, err := tx.addImage(indexEntry{mediaType: types.OCIManifestSchema1, name: name, builtin: true}, manifest, document); err != nil {
		return err
	}
	return s.removeOldBuiltins(name)
}

// isBuiltFrom reports whether the image exists and was built from source.
func (s *Store) isBuiltFrom(name, source string) bool {
	image, err := s.Resolve(name)
	if err != nil || !image.Builtin || len(image.LowerDirs) != 1 {
		return false
	}
	l, err := readRecord(filepath.Dir(image.LowerDirs[0]))
	return err == nil && l.Source == source
}

// removeOldBuiltins removes built-in images whose name a newer image has taken over.
func (s *Store) removeOldBuiltins(name string) error {
	images, err := s.List()
	if err != nil {
		return err
	}
	for _, image := range images {
		if image.Builtin && len(image.RepoTags) == 0 {
			if err := s.Remove(image.ID); err != nil && !errors.Is(err, ErrNotFound) {
				return fmt.Errorf("removing image %s of an older program: %w", name, err)
			}
		}
	}
	return nil
}

// file is a file of a built-in image.
type file struct {
	path string // absolute
	mode fs.FileMode
	data []byte
	from string // a file of this machine to copy or link
	link string // target of a symbolic link
}

// writeTar writes the files as a layer tarball, to compute the layer's digest.
func writeTar(dst io.Writer, files []file) error {
	w := tar.NewWriter(dst)
	for _, f := range files {
		h := &tar.Header{Typeflag: tar.TypeReg, Name: f.path[1:], Mode: int64(f.mode.Perm()), Size: int64(len(f.data))}
		content := io.Reader(bytes.NewReader(f.data))
		switch {
		case f.mode.IsDir():
			h.Typeflag, h.Name, h.Mode = tar.TypeDir, h.Name+"/", 0o1777
		case f.link != "":
			h.Typeflag, h.Linkname, h.Mode = tar.TypeSymlink, f.link, 0o777
		case f.from != "":
			source, err := os.Open(f.from)
			if err != nil {
				return err
			}
			defer source.Close()
			info, err := source.Stat()
			if err != nil {
				return err
			}
			h.Size, content = info.Size(), source
		}
		if err := w.WriteHeader(h); err != nil {
			return fmt.Errorf("%s: %w", f.path, err)
		}
		if _, err := io.Copy(w, content); err != nil {
			return fmt.Errorf("%s: %w", f.path, err)
		}
	}
	return w.Close()
}

// writeFiles creates the files below root.
func writeFiles(root string, files []file) (unpack.Size, error) {
	size := unpack.Size{Bytes: 4096, Inodes: 1}
	for _, f := range files {
		target := filepath.Join(root, f.path)
		created, err := makeParents(root, path.Dir(f.path))
		if err != nil {
			return size, err
		}
		n := int64(len(f.data))
		switch {
		case f.mode.IsDir():
			if err = os.Mkdir(target, 0o755); err == nil {
				err = os.Chmod(target, f.mode)
			}
		case f.link != "":
			err = os.Symlink(f.link, target)
		case f.from != "":
			n, err = linkOrCopy(f.from, target)
		default:
			if err = os.WriteFile(target, f.data, f.mode); err == nil {
				err = os.Chmod(target, f.mode) // independent of the umask
			}
		}
		if err != nil {
			return size, fmt.Errorf("%s: %w", f.path, err)
		}
		size.Bytes, size.Inodes = size.Bytes+(n+4095)/4096*4096, size.Inodes+1+created
	}
	return size, nil
}

// makeParents creates dir and its parents below root with mode 0755, and returns how many it
// created.
func makeParents(root, dir string) (int64, error) {
	if dir == "/" {
		return 0, nil
	}
	created, err := makeParents(root, path.Dir(dir))
	if err != nil {
		return created, err
	}
	target := filepath.Join(root, dir)
	if err := os.Mkdir(target, 0o755); errors.Is(err, fs.ErrExist) {
		return created, nil
	} else if err != nil {
		return created, err
	}
	return created + 1, os.Chmod(target, 0o755)
}
