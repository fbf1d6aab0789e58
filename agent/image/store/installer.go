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

// Progress is called while layers come: of the layer, done bytes of total (packed) are here. It may be
// called from many goroutines.
type Progress func(layer string, done, total int64)

// imageSource is an image that is to be brought.
type imageSource struct {
	name       string // with a tag, in full; may be empty
	repoDigest string
	mediaType  types.MediaType
	manifest   []byte
	config     []byte
	layers     []layerBlob // lowest first
	cancel     func()      // ends what still sends layers; optional
}

// layerBlob is a layer as it comes.
type layerBlob struct {
	digest v1.Hash // of what comes
	size   int64
	open   func() (io.ReadCloser, error)
}

// maxDocument is how large manifests and configurations may be. Registries take 4 MiB.
const maxDocument = 8 << 20

// diffIDs reads from a configuration which unpacked layers an image has, lowest first.
func diffIDs(config []byte) ([]v1.Hash, error) {
	c, err := v1.ParseConfigFile(bytes.NewReader(config))
	if err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	return c.RootFS.DiffIDs, nil
}

// validate says what is wrong with an image before anything of it is brought.
func (s *Store) validate(src *imageSource) error {
	if len(src.config) > maxDocument || len(src.manifest) > maxDocument {
		return fmt.Errorf("its configuration has %d bytes and its manifest %d: at most %d are possible", len(src.config), len(src.manifest), maxDocument)
	}
	c, err := v1.ParseConfigFile(bytes.NewReader(src.config))
	if err != nil {
		return fmt.Errorf("configuration: %w", err)
	}
	if c.OS != "" && c.OS != "linux" {
		return fmt.Errorf("it is for %s: want an image for linux", c.OS)
	}
	if c.Architecture != "" && c.Architecture != runtime.GOARCH {
		return fmt.Errorf("it is for %s: this machine is %s", c.Architecture, runtime.GOARCH)
	}
	if len(c.RootFS.DiffIDs) != len(src.layers) {
		return fmt.Errorf("its configuration names %d layers, its manifest %d", len(c.RootFS.DiffIDs), len(src.layers))
	}
	if len(src.layers) > s.limits.Layers {
		return fmt.Errorf("%w: it has %d layers: at most %d are possible", unpack.ErrTooLarge, len(src.layers), s.limits.Layers)
	}
	return nil
}

// maxParallelLayers is how many layers of an image come at the same time.
const maxParallelLayers = 3

// install brings an image.
func (s *Store) install(ctx context.Context, src *imageSource, progress Progress) (Image, error) {
	if err := s.validate(src); err != nil {
		return Image{}, err
	}
	ids, err := diffIDs(src.config)
	if err != nil {
		return Image{}, err
	}
	w, err := s.begin()
	if err != nil {
		return Image{}, err
	}
	defer w.end()
	budget := unpack.NewBudget(unpack.Size{Bytes: s.limits.Bytes, Inodes: s.limits.Inodes}, s.dir, s.limits.MinFree)
	if err := w.installLayers(ctx, src, ids, budget, progress); err != nil {
		return Image{}, err
	}
	if err := w.stage(src.manifest, src.config); err != nil {
		return Image{}, err
	}
	if err := syncFileSystem(s.dir); err != nil { // or a power cut leaves empty files in layers that count
		return Image{}, err
	}
	return w.addImage(indexEntry{mediaType: src.mediaType, name: src.name, repoDigest: src.repoDigest}, src.manifest, src.config)
}

// stage writes manifest and configuration where enter takes them from: the disk may take its time for that.
func (w *transaction) stage(documents ...[]byte) error {
	for _, data := range documents {
		if err := os.WriteFile(filepath.Join(w.dir, digest(data).Hex), data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// addImage adds an image whose layers are there, and whose manifest and configuration are staged.
func (w *transaction) addImage(e indexEntry, manifest, config []byte) (image Image, err error) {
	s := w.store
	e.size, e.manifest, e.id = int64(len(manifest)), digest(manifest), digest(config)
	err = s.withLock(func() error {
		for _, h := range []v1.Hash{e.manifest, e.id} {
			if err := os.Rename(filepath.Join(w.dir, h.Hex), s.blobPath(h)); err != nil {
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

// syncFileSystem has the disk keep what was written.
func syncFileSystem(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	return unix.Syncfs(int(f.Fd()))
}

// installLayers brings the layers that are not there.
func (w *transaction) installLayers(ctx context.Context, src *imageSource, ids []v1.Hash, budget *unpack.Budget, progress Progress) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if src.cancel != nil {
		defer src.cancel()
		context.AfterFunc(ctx, src.cancel)
	}
	var all sync.WaitGroup
	turns := make(chan struct{}, maxParallelLayers)
	for i, id := range ids {
		all.Go(func() {
			turns <- struct{}{}
			defer func() { <-turns }()
			if ctx.Err() != nil {
				return
			}
			if err := w.installLayer(ctx, src.layers[i], id, budget, progress); err != nil {
				cancel(fmt.Errorf("layer %d of %d, %s: %w", i+1, len(ids), src.layers[i].digest, err)) // the first one counts
			}
		})
	}
	all.Wait()
	return context.Cause(ctx)
}

// installLayer makes a layer be there: it is unpacked as it comes, and is the store's when both digests are right.
func (w *transaction) installLayer(ctx context.Context, p layerBlob, id v1.Hash, budget *unpack.Budget, progress Progress) error {
	unlock, err := w.store.layers.lock(ctx, id.String())
	if err != nil {
		return err
	}
	defer unlock()
	if there, err := w.findLayer(id); there || err != nil {
		return err
	}
	dir, files, err := w.newLayerDir()
	if err != nil {
		return err
	}
	packedStream, err := p.open()
	if err != nil {
		return err
	}
	defer packedStream.Close()
	came := &progressReader{r: packedStream, hash: sha256.New(), size: p.size, report: func(n int64) {
		if progress != nil {
			progress(p.digest.String(), n, p.size)
		}
	}}
	stream, err := decompress(came)
	if err != nil {
		return err
	}
	defer stream.Close()
	sum := sha256.New()
	both := io.TeeReader(stream, sum)
	result, err := unpack.Layer(ctx, files, both, budget)
	if err != nil {
		return err
	}
	// What follows the end of a tar file is part of its digest.
	if _, err := io.Copy(io.Discard, io.LimitReader(both, maxTail)); err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, came); err != nil {
		return err
	}
	if err := errors.Join(checkDigest("packed", p.digest, came.hash), checkDigest("unpacked", id, sum)); err != nil {
		return err
	}
	return w.commitLayer(dir, layer{DiffID: id, Size: result.Size, Opaque: result.Opaque})
}

// maxTail is how much may follow the end of a tar file: some fill up to a block of theirs.
const maxTail = 16 << 20

// checkDigest compares a digest.
func checkDigest(what string, want v1.Hash, got hash.Hash) error {
	if sum := hex.EncodeToString(got.Sum(nil)); sum != want.Hex {
		return fmt.Errorf("%w: %s it should be %s, and is sha256:%s", errDigest, what, want, sum)
	}
	return nil
}
