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

// Annotations of index.json entries; the first is defined by OCI.
const (
	annotationName       = "org.opencontainers.image.ref.name"
	annotationRepoDigest = "dev.berth.image.pulled"
	annotationID         = "dev.berth.image.id"
	annotationBuiltin    = "dev.berth.image.builtin"
)

// indexEntry is an entry of index.json: an image with one name or none.
type indexEntry struct {
	manifest   v1.Hash
	mediaType  types.MediaType
	size       int64
	id         v1.Hash // digest of the configuration
	name       string  // full name with tag
	repoDigest string  // repository@digest
	builtin    bool
}

// readIndex returns the entries of index.json, none if it does not exist.
func (s *Store) readIndex() ([]indexEntry, error) {
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
	var list []indexEntry
	for _, d := range index.Manifests {
		id, err := v1.NewHash(d.Annotations[annotationID])
		if err != nil {
			return nil, fmt.Errorf("%s: manifest %s: annotation %s: %w", s.path("index.json"), d.Digest, annotationID, err)
		}
		list = append(list, indexEntry{manifest: d.Digest, mediaType: d.MediaType, size: d.Size, id: id, name: d.Annotations[annotationName],
			repoDigest: d.Annotations[annotationRepoDigest], builtin: d.Annotations[annotationBuiltin] != ""})
	}
	return list, nil
}

// writeIndex replaces index.json atomically.
func (s *Store) writeIndex(list []indexEntry) error {
	index := v1.IndexManifest{SchemaVersion: 2, MediaType: types.OCIImageIndex, Manifests: []v1.Descriptor{}}
	for _, e := range list {
		d := v1.Descriptor{MediaType: e.mediaType, Size: e.size, Digest: e.manifest, Annotations: map[string]string{annotationID: e.id.String()}}
		for key, value := range map[string]string{annotationName: e.name, annotationRepoDigest: e.repoDigest} {
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
	return writeAtomic(s.path("index.json"), data, true)
}

// addEntry adds an image. Another image with the same name loses that name.
func addEntry(list []indexEntry, e indexEntry) []indexEntry {
	var out []indexEntry
	for _, existing := range list {
		if existing.name == e.name && e.name != "" {
			existing.name = ""
		}
		if existing.name == "" && existing.id == e.id && existing.manifest == e.manifest && (existing.repoDigest == "" || e.repoDigest == "" || existing.repoDigest == e.repoDigest) {
			// The entry describes the same image: keep its repository digest.
			e.repoDigest, e.builtin = cmp.Or(e.repoDigest, existing.repoDigest), e.builtin || existing.builtin
			continue
		}
		out = append(out, existing)
	}
	return append(out, e)
}

// blobPath returns the path of a manifest or configuration.
func (s *Store) blobPath(h v1.Hash) string { return s.path("blobs", h.Algorithm, h.Hex) }

// readBlob reads a manifest or configuration and verifies its digest.
func (s *Store) readBlob(h v1.Hash) ([]byte, error) {
	data, err := os.ReadFile(s.blobPath(h))
	if err != nil {
		return nil, err
	}
	if err := verifyDigest(data, h); err != nil {
		return nil, fmt.Errorf("%s: %w", s.blobPath(h), err)
	}
	return data, nil
}

func verifyDigest(data []byte, h v1.Hash) error {
	got, _, err := v1.SHA256(strings.NewReader(string(data)))
	if err != nil {
		return err
	}
	if got != h {
		return fmt.Errorf("%w: want %s, got %s", errDigest, h, got)
	}
	return nil
}

// errDigest means that content does not match its digest or announced size.
var errDigest = errors.New("wrong digest")
