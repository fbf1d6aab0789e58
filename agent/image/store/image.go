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
	ID          string    // digest of the configuration, sha256:...
	RepoTags    []string  // full names with tags, such as docker.io/library/busybox:1; sorted
	RepoDigests []string  // full names with digests; sorted
	Config      v1.Config // defaults of containers
	// LowerDirs are the absolute paths of the unpacked layers, topmost first, as overlayfs expects.
	LowerDirs []string
	Bytes     int64 // on disk, including layers shared with other images; 0 if the image is in Options.BuiltinDir
	Inodes    int64
	Builtin   bool // built from this program; no registry has it
}

// List returns all images, sorted by first name and ID.
func (s *Store) List() ([]Image, error) {
	out, err := s.list()
	if err != nil { // an image was removed concurrently
		err = s.withLock(func() (err error) {
			out, err = s.list()
			return err
		})
	}
	if err == nil && s.builtin != nil {
		var builtins []Image
		builtins, err = s.builtin.List()
		for _, image := range builtins {
			if image.Builtin {
				image.Bytes, image.Inodes = 0, 0 // counted by the shared store
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
		return "~" // sorts after all names
	}
	return names[0]
}

// list returns the images of this directory. Without the store lock it fails if an image is
// removed concurrently.
func (s *Store) list() ([]Image, error) {
	entries, err := s.readIndex()
	if err != nil {
		return nil, err
	}
	var out []Image
	index := map[v1.Hash]int{}
	for _, e := range entries {
		i, ok := index[e.id]
		if !ok {
			image, err := s.image(e)
			if err != nil {
				return nil, fmt.Errorf("image %s: %w", cmp.Or(e.name, e.repoDigest, e.id.String()), err)
			}
			i = len(out)
			index[e.id], out = i, append(out, image)
		}
		image := &out[i]
		image.Builtin = image.Builtin || e.builtin
		image.RepoTags = insertName(image.RepoTags, e.name)
		image.RepoDigests = insertName(image.RepoDigests, e.repoDigest)
	}
	return out, nil
}

// insertName inserts a name into a sorted list.
func insertName(names []string, name string) []string {
	i, found := slices.BinarySearch(names, name)
	if found || name == "" {
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
		return Image{}, fmt.Errorf("parsing the configuration: %w", err)
	}
	out := Image{ID: e.id.String(), Config: config.Config}
	seen, hidden := map[v1.Hash]bool{}, false
	for _, diffID := range slices.Backward(config.RootFS.DiffIDs) {
		if seen[diffID] {
			continue // a repeated layer is hidden by its upper copy, and overlayfs rejects duplicates
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

// Resolve returns the image with the given name (busybox, docker.io/library/busybox:latest,
// NAME@DIGEST), ID or ID prefix. If there is none, the error is ErrNotFound.
func (s *Store) Resolve(name string) (Image, error) {
	images, err := s.List()
	if err != nil {
		return Image{}, err
	}
	return resolve(images, name)
}

// shortestID is the minimum length of an ID prefix.
const shortestID = 7

// resolve returns the image with the given name, ID or ID prefix; see Store.Resolve.
func resolve(images []Image, name string) (Image, error) {
	full, err := fullName(name)
	if _, idErr := v1.NewHash(name); err == nil && idErr != nil { // a full ID is never a name, because containers refer to images by ID
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
	var matches []Image
	for _, image := range images {
		if strings.HasPrefix(strings.TrimPrefix(image.ID, "sha256:"), hex) {
			matches = append(matches, image)
		}
	}
	switch len(matches) {
	case 0:
		return Image{}, fmt.Errorf("%s: %w", name, ErrNotFound)
	case 1:
		return matches[0], nil
	}
	return Image{}, fmt.Errorf("%s: ambiguous, %d images have this ID prefix", name, len(matches))
}

// fullName returns the canonical name with registry and either tag or digest.
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

// checkNotID rejects names that look like an image ID (sha256:...).
func checkNotID(full string) error {
	if repository(full) == "docker.io/library/sha256" {
		return fmt.Errorf("image name %q: sha256 is not a valid name, it marks an image ID", full)
	}
	return nil
}

// isMissingOrCorrupt reports whether err means that a part of the store is missing or corrupt.
func isMissingOrCorrupt(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, errDigest)
}
