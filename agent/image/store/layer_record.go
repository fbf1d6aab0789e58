package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/berthproject/berth/agent/image/unpack"
)

// layer is what layer.json says of an unpacked layer.
type layer struct {
	DiffID      v1.Hash `json:"diffID"` // of the unpacked tar stream
	unpack.Size         // on disk
	Opaque      bool    `json:"opaque,omitempty"` // nothing of lower layers shows
	// Source is the file that a built-in layer was made from, as its size, time and inode tell it.
	Source string `json:"source,omitempty"`
}

// layerFiles and layerRecord are in the directory of a layer.
const (
	layerFiles  = "fs"
	layerRecord = "layer.json"
)

// layerName is the name of a layer's directory: as much of the digest as keeps strangers apart, and short enough
// for a hundred of them in the options of a mount.
func layerName(diffID v1.Hash) string { return diffID.Hex[:min(len(diffID.Hex), 24)] }

// readLayer reads what is known of a layer; fs.ErrNotExist if it is not there.
func (s *Store) readLayer(diffID v1.Hash) (layer, error) {
	l, err := readRecord(s.path("layers", layerName(diffID)))
	if err == nil && l.DiffID != diffID {
		return layer{}, fmt.Errorf("layer %s: %w: %s is in its place", diffID, errDigest, l.DiffID)
	}
	return l, err
}

func readRecord(dir string) (layer, error) {
	path := filepath.Join(dir, layerRecord)
	data, err := os.ReadFile(path)
	if err != nil {
		return layer{}, err
	}
	if isBlank(data) {
		return layer{}, fmt.Errorf("%s: is empty: %w", path, fs.ErrNotExist)
	}
	var l layer
	if err := json.Unmarshal(data, &l); err != nil {
		return layer{}, fmt.Errorf("%s: %w", path, err)
	}
	return l, nil
}

// findLayer says whether a layer is there, and keeps it for w if so.
func (w *transaction) findLayer(diffID v1.Hash) (bool, error) {
	there := false
	err := w.store.withLock(func() error {
		_, err := w.store.readLayer(diffID)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil {
			there = true
			err = w.pinLayer(layerName(diffID))
		}
		return err
	})
	return there, err
}

// newLayerDir makes an empty directory for the files of a layer.
func (w *transaction) newLayerDir() (dir, files string, err error) {
	if dir, err = os.MkdirTemp(w.dir, "layer-"); err != nil {
		return "", "", err
	}
	files = filepath.Join(dir, layerFiles)
	if err := os.Mkdir(files, 0o755); err != nil {
		return "", "", err
	}
	return dir, files, os.Chmod(files, 0o755) // whatever the umask
}

// commitLayer makes a layer that is complete in dir one of the store.
func (w *transaction) commitLayer(dir string, l layer) error {
	data, err := json.Marshal(l)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, layerRecord), data, 0o644); err != nil {
		return err
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		return err
	}
	return w.store.withLock(func() error {
		if err := w.pinLayer(layerName(l.DiffID)); err != nil {
			return err
		}
		if _, err := w.store.readLayer(l.DiffID); !errors.Is(err, fs.ErrNotExist) {
			return err // another process was faster
		}
		return os.Rename(dir, w.store.path("layers", layerName(l.DiffID)))
	})
}

// isBlank says that a file has nothing of what was written, as a power cut leaves those that the disk was not asked to keep.
func isBlank(data []byte) bool { return len(bytes.Trim(data, "\x00")) == 0 }
