package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/sys/unix"

	"github.com/berthproject/berth/agent/image/unpack"
)

// Progress is called while layers are read. layer is the digest of the layer as transferred; done and total are in bytes.
// Calls may be concurrent.
type Progress func(layer string, done, total int64)

// imageSource is an image to install.
type imageSource struct {
	name       string // full name with tag; may be empty
	repoDigest string
	mediaType  types.MediaType
	manifest   []byte
	config     []byte
	layers     []layerBlob // lowest first
	cancel     func()      // aborts open layer streams; optional
}

// layerBlob is a layer as transferred, usually compressed.
type layerBlob struct {
	digest v1.Hash // of the blob
	size   int64
	open   func() (io.ReadCloser, error)
}

// maxDocument is the maximum size of a manifest or configuration in bytes. Registries accept 4 MiB.
const maxDocument = 8 << 20

// diffIDs returns the digests of the unpacked layers in a configuration, lowest first.
func diffIDs(config []byte) ([]v1.Hash, error) {
	c, err := v1.ParseConfigFile(bytes.NewReader(config))
	if err != nil {
		return nil, fmt.Errorf("parsing the configuration: %w", err)
	}
	return c.RootFS.DiffIDs, nil
}

// validate checks an image before its layers are read.
func (s *Store) validate(src *imageSource) error {
	if len(src.config) > maxDocument || len(src.manifest) > maxDocument {
		return fmt.Errorf("configuration has %d bytes and manifest %d, the maximum is %d", len(src.config), len(src.manifest), maxDocument)
	}
	c, err := v1.ParseConfigFile(bytes.NewReader(src.config))
	if err != nil {
		return fmt.Errorf("parsing the configuration: %w", err)
	}
	if c.OS != "" && c.OS != "linux" {
		return fmt.Errorf("image is for %s, not for linux", c.OS)
	}
	if c.Architecture != "" && c.Architecture != runtime.GOARCH {
		return fmt.Errorf("image is for %s, this machine is %s", c.Architecture, runtime.GOARCH)
	}
	if len(c.RootFS.DiffIDs) != len(src.layers) {
		return fmt.Errorf("configuration lists %d layers, manifest %d", len(c.RootFS.DiffIDs), len(src.layers))
	}
	if len(src.layers) > s.limits.Layers {
		return fmt.Errorf("%w: %d layers, the maximum is %d", unpack.ErrTooLarge, len(src.layers), s.limits.Layers)
	}
	return nil
}

// maxParallelLayers is the number of layers that an installation reads concurrently.
const maxParallelLayers = 3

// install installs an image and adds it to the index. progress may be nil.
func (s *Store) install(ctx context.Context, src *imageSource, progress Progress) (Image, error) {
	if err := s.validate(src); err != nil {
		return Image{}, err
	}
	ids, err := diffIDs(src.config)
	if err != nil {
		return Image{}, err
	}
	tx, err := s.begin()
	if err != nil {
		return Image{}, err
	}
	defer tx.end()
	budget := unpack.NewBudget(unpack.Size{Bytes: s.limits.Bytes, Inodes: s.limits.Inodes}, s.dir, s.limits.MinFree)
	if err := tx.installLayers(ctx, src, ids, budget, progress); err != nil {
		return Image{}, err
	}
	if err := tx.stage(src.manifest, src.config); err != nil {
		return Image{}, err
	}
	if err := syncFileSystem(s.dir); err != nil { // after a power failure, installed layers must not have empty files
		return Image{}, err
	}
	return tx.addImage(indexEntry{mediaType: src.mediaType, name: src.name, repoDigest: src.repoDigest}, src.manifest, src.config)
}

// stage writes documents to the transaction's directory, from which addImage moves them while it
// holds the lock.
func (tx *transaction) stage(documents ...[]byte) error {
	for _, data := range documents {
		if err := os.WriteFile(filepath.Join(tx.dir, digest(data).Hex), data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// addImage adds an image with installed layers and staged manifest and configuration to the
// index.
func (tx *transaction) addImage(e indexEntry, manifest, config []byte) (image Image, err error) {
	s := tx.store
	e.size, e.manifest, e.id = int64(len(manifest)), digest(manifest), digest(config)
	err = s.withLock(func() error {
		for _, h := range []v1.Hash{e.manifest, e.id} {
			if err := os.Rename(filepath.Join(tx.dir, h.Hex), s.blobPath(h)); err != nil {
				return err
			}
		}
		entries, err := s.readIndex()
		if err != nil {
			return err
		}
		if err := s.writeIndex(addEntry(entries, e)); err != nil {
			return err
		}
		images, err := s.list()
		if err == nil {
			image, err = resolve(images, e.id.String())
		}
		return err
	})
	return image, err
}

func digest(data []byte) v1.Hash {
	sum := sha256.Sum256(data)
	return v1.Hash{Algorithm: "sha256", Hex: hex.EncodeToString(sum[:])}
}

func syncFileSystem(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	return unix.Syncfs(int(f.Fd()))
}

// installLayers installs the missing layers.
func (tx *transaction) installLayers(ctx context.Context, src *imageSource, ids []v1.Hash, budget *unpack.Budget, progress Progress) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if src.cancel != nil {
		defer src.cancel()
		context.AfterFunc(ctx, src.cancel)
	}
	var wg sync.WaitGroup
	slots := make(chan struct{}, maxParallelLayers)
	for i, id := range ids {
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			if ctx.Err() != nil {
				return
			}
			if err := tx.installLayer(ctx, src.layers[i], id, budget, progress); err != nil {
				cancel(fmt.Errorf("layer %d of %d, %s: %w", i+1, len(ids), src.layers[i].digest, err)) // the first error is reported
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}

// installLayer unpacks a layer while it is transferred and commits it if both digests match.
func (tx *transaction) installLayer(ctx context.Context, blob layerBlob, id v1.Hash, budget *unpack.Budget, progress Progress) error {
	unlock, err := tx.store.layers.lock(ctx, id.String())
	if err != nil {
		return err
	}
	defer unlock()
	if exists, err := tx.findLayer(id); exists || err != nil {
		return err
	}
	dir, files, err := tx.newLayerDir()
	if err != nil {
		return err
	}
	compressed, err := blob.open()
	if err != nil {
		return err
	}
	defer compressed.Close()
	counter := &progressReader{stream: compressed, hash: sha256.New(), size: blob.size, report: func(read int64) {
		if progress != nil {
			progress(blob.digest.String(), read, blob.size)
		}
	}}
	stream, err := decompress(counter)
	if err != nil {
		return err
	}
	defer stream.Close()
	sum := sha256.New()
	tee := io.TeeReader(stream, sum)
	result, err := unpack.Layer(ctx, files, tee, budget)
	if err != nil {
		return err
	}
	// The digest includes data after the end of the tar archive.
	if _, err := io.Copy(io.Discard, io.LimitReader(tee, maxTail)); err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, counter); err != nil {
		return err
	}
	if err := errors.Join(checkDigest("compressed", blob.digest, counter.hash), checkDigest("unpacked", id, sum)); err != nil {
		return err
	}
	return tx.commitLayer(dir, layer{DiffID: id, Size: result.Size, Opaque: result.Opaque})
}

// maxTail bounds the data after the end of a tar archive, in bytes. Some tools pad the archive to a block.
const maxTail = 16 << 20

func checkDigest(kind string, want v1.Hash, got hash.Hash) error {
	if sum := hex.EncodeToString(got.Sum(nil)); sum != want.Hex {
		return fmt.Errorf("%w of the %s layer: want %s, got sha256:%s", errDigest, kind, want, sum)
	}
	return nil
}
