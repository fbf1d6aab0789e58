package store

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// Annotations of an entry of index.json. The first one is the OCI's.
const (
	annotationName    = "org.opencontainers.image.ref.name"
	annotationPulled  = "dev.berth.image.pulled"
	annotationID      = "dev.berth.image.id"
	annotationBuiltin = "dev.berth.image.builtin"
)

// entry is one line of index.json: an image under one name, or without any.
type entry struct {
	manifest v1.Hash
	media    types.MediaType
	size     int64
	id       v1.Hash // of the configuration
	name     string  // with a tag, in full
	pulled   string  // repository@digest
	builtin  bool
}

// readIndex reads which images there are.
func (s *Store) readIndex() ([]entry, error) {
	data, err := os.ReadFile(s.path("index.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var index v1.IndexManifest
	if err := json.Unmarshal(data, &index); err != nil {
		return nil, fmt.Errorf("%s: %w", s.path("index.json"), err)
	}
	var list []entry
	for _, d := range index.Manifests {
		id, err := v1.NewHash(d.Annotations[annotationID])
		if err != nil {
			return nil, fmt.Errorf("%s: manifest %s: annotation %s: %w", s.path("index.json"), d.Digest, annotationID, err)
		}
		list = append(list, entry{manifest: d.Digest, media: d.MediaType, size: d.Size, id: id, name: d.Annotations[annotationName],
			pulled: d.Annotations[annotationPulled], builtin: d.Annotations[annotationBuiltin] != ""})
	}
	return list, nil
}

// writeIndex says which images there are from now on.
func (s *Store) writeIndex(list []entry) error {
	index := v1.IndexManifest{SchemaVersion: 2, MediaType: types.OCIImageIndex, Manifests: []v1.Descriptor{}}
	for _, e := range list {
		d := v1.Descriptor{MediaType: e.media, Size: e.size, Digest: e.manifest, Annotations: map[string]string{annotationID: e.id.String()}}
		for key, value := range map[string]string{annotationName: e.name, annotationPulled: e.pulled} {
			if value != "" {
				d.Annotations[key] = value
			}
		}
		if e.builtin {
			d.Annotations[annotationBuiltin] = "true"
		}
		index.Manifests = append(index.Manifests, d)
	}
	data, err := json.MarshalIndent(index, "", "  ")
	if err != nil {
		return err
	}
	return write(s.path("index.json"), data, true)
}

// named gives an image its name, which another one may lose by that.
func named(list []entry, e entry) []entry {
	var out []entry
	for _, old := range list {
		if old.name == e.name && e.name != "" {
			old.name = ""
		}
		if old.name == "" && old.id == e.id && old.manifest == e.manifest && (old.pulled == "" || e.pulled == "" || old.pulled == e.pulled) {
			// The same image again; where it was pulled from stays known.
			e.pulled, e.builtin = cmp.Or(e.pulled, old.pulled), e.builtin || old.builtin
			continue
		}
		out = append(out, old)
	}
	return append(out, e)
}

// blob is where a manifest or a configuration is.
func (s *Store) blob(h v1.Hash) string { return s.path("blobs", h.Algorithm, h.Hex) }

// readBlob reads a manifest or a configuration, and compares it with its digest.
func (s *Store) readBlob(h v1.Hash) ([]byte, error) {
	data, err := os.ReadFile(s.blob(h))
	if err != nil {
		return nil, err
	}
	if err := matches(data, h); err != nil {
		return nil, fmt.Errorf("%s: %w", s.blob(h), err)
	}
	return data, nil
}

// matches says whether data has the digest.
func matches(data []byte, h v1.Hash) error {
	got, _, err := v1.SHA256(strings.NewReader(string(data)))
	if err != nil {
		return err
	}
	if got != h {
		return fmt.Errorf("%w: want %s, it is %s", errDigest, h, got)
	}
	return nil
}

// errDigest says that something is not what it was announced to be.
var errDigest = errors.New("wrong digest")
