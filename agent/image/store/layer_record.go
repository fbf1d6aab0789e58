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

// layer is the content of layer.json.
type layer struct {
	DiffID      v1.Hash `json:"diffID"` // digest of the unpacked tar stream
	unpack.Size         // on disk
	Opaque      bool    `json:"opaque,omitempty"` // hides all lower layers
	// Source identifies the program in a built-in layer: a hash of the pause program, or the fileIdentity of the test
	// program. It is empty for other layers.
	Source string `json:"source,omitempty"`
}

// Entries of a layer's directory.
const (
	layerFiles  = "fs"
	layerRecord = "layer.json"
)

// layerName returns the name of a layer's directory: a digest prefix that is unique, and short
// enough for 120 of them in mount options.
func layerName(diffID v1.Hash) string { return diffID.Hex[:min(len(diffID.Hex), 24)] }

// readLayer reads layer.json. If the layer does not exist, the error is fs.ErrNotExist.
func (s *Store) readLayer(diffID v1.Hash) (layer, error) {
	l, err := readRecord(s.path("layers", layerName(diffID)))
	if err == nil && l.DiffID != diffID {
		return layer{}, fmt.Errorf("layer %s: %w: the directory contains %s", diffID, errDigest, l.DiffID)
	}
	return l, err
}

// readRecord reads the layer.json in dir. If it does not exist or is blank, the error is fs.ErrNotExist.
func readRecord(dir string) (layer, error) {
	path := filepath.Join(dir, layerRecord)
	data, err := os.ReadFile(path)
	if err != nil {
		return layer{}, err
	}
	if isBlank(data) {
		return layer{}, fmt.Errorf("%s: empty file: %w", path, fs.ErrNotExist)
	}
	var l layer
	if err := json.Unmarshal(data, &l); err != nil {
		return layer{}, fmt.Errorf("%s: %w", path, err)
	}
	return l, nil
}

// findLayer reports whether a layer exists, and pins it for the transaction.
func (tx *transaction) findLayer(diffID v1.Hash) (bool, error) {
	exists := false
	err := tx.store.withLock(func() error {
		_, err := tx.store.readLayer(diffID)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil {
			exists = true
			err = tx.pinLayer(layerName(diffID))
		}
		return err
	})
	return exists, err
}

// newLayerDir creates the directory of a layer, and in it an empty directory for the layer's files.
func (tx *transaction) newLayerDir() (dir, files string, err error) {
	if dir, err = os.MkdirTemp(tx.dir, "layer-"); err != nil {
		return "", "", err
	}
	files = filepath.Join(dir, layerFiles)
	if err := os.Mkdir(files, 0o755); err != nil {
		return "", "", err
	}
	return dir, files, os.Chmod(files, 0o755) // independent of the umask
}

// commitLayer moves a complete layer to the store.
func (tx *transaction) commitLayer(dir string, l layer) error {
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
	return tx.store.withLock(func() error {
		if err := tx.pinLayer(layerName(l.DiffID)); err != nil {
			return err
		}
		if _, err := tx.store.readLayer(l.DiffID); !errors.Is(err, fs.ErrNotExist) {
			return err // another process has committed it
		}
		return os.Rename(dir, tx.store.path("layers", layerName(l.DiffID)))
	})
}

// isBlank reports whether a file has no content, as a power failure leaves files that were not
// synced.
func isBlank(data []byte) bool { return len(bytes.Trim(data, "\x00")) == 0 }
