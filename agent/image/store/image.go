package store

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/distribution/reference"
	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// Image is an image of the store.
type Image struct {
	ID          string    // digest of its configuration, sha256:...
	RepoTags    []string  // with tags, in full: docker.io/library/busybox:1; sorted
	RepoDigests []string  // names with digests, as repositories have it; sorted
	Config      v1.Config // what a container runs unless told otherwise
	// LowerDirs are the unpacked layers, the topmost first, as overlay's lowerdir wants them. Absolute.
	LowerDirs []string
	Bytes     int64 // on disk, layers that other images share included
	Inodes    int64
	Builtin   bool // made from this program: there is no registry to bring it again
}

// List is all images, by their first names and then by id.
func (s *Store) List() ([]Image, error) {
	out, err := s.list()
	if err != nil { // an image was removed meanwhile
		err = s.withLock(func() (err error) {
			out, err = s.list()
			return err
		})
	}
	if err == nil && s.builtin != nil {
		var more []Image
		more, err = s.builtin.List()
		for _, image := range more {
			if image.Builtin {
				image.Bytes, image.Inodes = 0, 0 // not of this disk
				out = append(out, image)
			}
		}
	}
	slices.SortFunc(out, func(a, b Image) int {
		return cmp.Or(strings.Compare(firstName(a.RepoTags), firstName(b.RepoTags)), strings.Compare(a.ID, b.ID))
	})
	return out, err
}

func firstName(names []string) string {
	if len(names) == 0 {
		return "~" // after all that have one
	}
	return names[0]
}

// list is all images of this directory. While the store is not locked, one of them may be gone in between.
func (s *Store) list() ([]Image, error) {
	entries, err := s.readIndex()
	if err != nil {
		return nil, err
	}
	var out []Image
	at := map[v1.Hash]int{}
	for _, e := range entries {
		i, known := at[e.id]
		if !known {
			image, err := s.image(e)
			if err != nil {
				return nil, fmt.Errorf("image %s: %w", cmp.Or(e.name, e.repoDigest, e.id.String()), err)
			}
			i = len(out)
			at[e.id], out = i, append(out, image)
		}
		image := &out[i]
		image.Builtin = image.Builtin || e.builtin
		image.RepoTags = insertName(image.RepoTags, e.name)
		image.RepoDigests = insertName(image.RepoDigests, e.repoDigest)
	}
	return out, nil
}

// insertName adds a name to sorted ones.
func insertName(names []string, name string) []string {
	i, there := slices.BinarySearch(names, name)
	if there || name == "" {
		return names
	}
	return slices.Insert(names, i, name)
}

// image reads an image without its names.
func (s *Store) image(e indexEntry) (Image, error) {
	data, err := s.readBlob(e.id)
	if err != nil {
		return Image{}, err
	}
	config, err := v1.ParseConfigFile(bytes.NewReader(data))
	if err != nil {
		return Image{}, fmt.Errorf("configuration: %w", err)
	}
	out := Image{ID: e.id.String(), Config: config.Config}
	seen, hidden := map[v1.Hash]bool{}, false
	for _, diffID := range slices.Backward(config.RootFS.DiffIDs) {
		if seen[diffID] {
			continue // all that it has shows already, higher up; overlay wants each once
		}
		seen[diffID] = true
		l, err := s.readLayer(diffID)
		if err != nil {
			return Image{}, fmt.Errorf("layer %s: %w", diffID, err)
		}
		out.Bytes, out.Inodes = out.Bytes+l.Bytes, out.Inodes+l.Inodes
		if !hidden {
			out.LowerDirs = append(out.LowerDirs, s.path("layers", layerName(diffID), layerFiles))
		}
		hidden = hidden || l.Opaque
	}
	if len(out.LowerDirs) == 0 {
		out.LowerDirs = []string{s.path("empty")}
	}
	return out, nil
}

// Resolve finds an image by a name (busybox, docker.io/library/busybox:latest, NAME@DIGEST), or by its
// id or the beginning of it. The error is ErrNotFound if there is none.
func (s *Store) Resolve(name string) (Image, error) {
	images, err := s.List()
	if err != nil {
		return Image{}, err
	}
	return resolve(images, name)
}

// shortestID is how much of an id is enough to find an image.
const shortestID = 7

func resolve(images []Image, name string) (Image, error) {
	full, err := fullName(name)
	if _, noID := v1.NewHash(name); err == nil && noID != nil { // a whole id is nothing else, whatever images are called: containers are made by it
		for _, image := range images {
			if slices.Contains(image.RepoTags, full) || slices.Contains(image.RepoDigests, full) {
				return image, nil
			}
		}
	}
	hex := strings.TrimPrefix(name, "sha256:")
	if len(hex) < shortestID || strings.Trim(hex, "0123456789abcdef") != "" {
		if err != nil {
			return Image{}, err
		}
		return Image{}, fmt.Errorf("%s: %w", name, ErrNotFound)
	}
	var found []Image
	for _, image := range images {
		if strings.HasPrefix(strings.TrimPrefix(image.ID, "sha256:"), hex) {
			found = append(found, image)
		}
	}
	switch len(found) {
	case 0:
		return Image{}, fmt.Errorf("%s: %w", name, ErrNotFound)
	case 1:
		return found[0], nil
	}
	return Image{}, fmt.Errorf("%s: %d images have ids that begin so", name, len(found))
}

// fullName is a name as images have it here: with its registry, and a tag or a digest, not both.
func fullName(name string) (string, error) {
	named, err := reference.ParseNormalizedNamed(name)
	if err != nil {
		return "", fmt.Errorf("image name %q: %w", name, err)
	}
	if digested, ok := named.(reference.Digested); ok {
		return named.Name() + "@" + digested.Digest().String(), nil
	}
	return reference.TagNameOnly(named).String(), nil
}

// checkNotID refuses a full name that reads like an image's id, sha256:...: no image is to be taken for another one.
func checkNotID(full string) error {
	if repository(full) == "docker.io/library/sha256" {
		return fmt.Errorf("image name %q: sha256 alone begins an image's id, and is no name", full)
	}
	return nil
}

// isMissingOrCorrupt says that something of the store is not there, or not as it must be.
func isMissingOrCorrupt(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, errDigest)
}
