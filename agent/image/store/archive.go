package store

import (
	"archive/tar"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path"
	"runtime"
	"slices"
	"strings"
	"unicode"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"golang.org/x/sys/unix"

	"github.com/berthproject/berth/agent/image/unpack"
)

// archive is a tar file of images with random access to its entries.
type archive struct {
	file          *os.File
	files         map[string]archiveEntry
	maxLayers     int               // per image
	layerDigests  map[int64]v1.Hash // digests of layers by offset, because images may share layers
	documentBytes int64             // total size of the documents read so far
	platforms     []string          // of images for other machines, for errors; at most maxPlatforms
}

// archiveEntry locates a file in the archive.
type archiveEntry struct {
	offset, size int64
	link         string // target of a link, relative to the archive's root
}

// maxArchiveEntries bounds the number of files in an archive.
const maxArchiveEntries = 100_000

// maxEntryName bounds the length of the names of files and link targets in bytes.
const maxEntryName = 4095

// newArchive copies the stream, decompressed, to a file in dir and indexes it.
func newArchive(stream io.Reader, dir string, limits Limits) (*archive, error) {
	f, err := os.CreateTemp(dir, "archive-")
	if err != nil {
		return nil, err
	}
	a := &archive{file: f, files: map[string]archiveEntry{}, maxLayers: limits.Layers, layerDigests: map[int64]v1.Hash{}}
	if err := a.load(stream, limits); err != nil {
		a.close()
		return nil, err
	}
	return a, nil
}

func (a *archive) close() { a.file.Close() }

// load copies the stream, decompressed, to the archive's file and indexes it.
func (a *archive) load(stream io.Reader, limits Limits) error {
	r, err := decompress(stream)
	if err != nil {
		return err
	}
	defer r.Close()
	var disk unix.Statfs_t
	if err := unix.Fstatfs(int(a.file.Fd()), &disk); err != nil {
		return err
	}
	maxBytes := max(min(limits.Bytes, int64(disk.Bavail)*disk.Bsize-limits.MinFree), 0)
	n, err := io.Copy(a.file, io.LimitReader(r, maxBytes+1))
	if err != nil {
		return fmt.Errorf("reading the archive: %w", err)
	}
	if n > maxBytes {
		return fmt.Errorf("%w: the archive exceeds %d bytes, the limit for an image or the free disk space", unpack.ErrTooLarge, maxBytes)
	}
	if _, err := a.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	return a.scan()
}

// scan indexes the entries. After Next, the file position is the start of the entry's data.
func (a *archive) scan() error {
	for r := tar.NewReader(a.file); ; {
		h, err := r.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("not a tar archive: %w", err)
		}
		if len(a.files) >= maxArchiveEntries {
			return fmt.Errorf("%w: the archive has more than %d entries", unpack.ErrTooLarge, maxArchiveEntries)
		}
		if len(h.Name) > maxEntryName || len(h.Linkname) > maxEntryName { // all names are kept in memory
			return fmt.Errorf("%w: the archive has a name of more than %d bytes", unpack.ErrTooLarge, maxEntryName)
		}
		dataOffset, err := a.file.Seek(0, io.SeekCurrent)
		if err != nil {
			return err
		}
		name := path.Clean(h.Name)
		switch h.Typeflag {
		case tar.TypeReg:
			a.files[name] = archiveEntry{offset: dataOffset, size: h.Size}
		case tar.TypeSymlink: // old versions of docker save use links for repeated layers
			a.files[name] = archiveEntry{link: path.Join(path.Dir(name), h.Linkname)}
		case tar.TypeLink:
			a.files[name] = archiveEntry{link: path.Clean(h.Linkname)}
		}
	}
}

// maxLinks bounds the length of a chain of links.
const maxLinks = 8

// open returns the contents of a file of the archive. It follows links.
func (a *archive) open(name string) (*io.SectionReader, error) {
	entry, ok := a.files[path.Clean(name)]
	for range maxLinks {
		if entry.link != "" {
			entry, ok = a.files[entry.link]
		}
	}
	if !ok || entry.link != "" {
		return nil, fmt.Errorf("%q is not in the archive", name)
	}
	return io.NewSectionReader(a.file, entry.offset, entry.size), nil
}

// maxDocuments bounds the total size in bytes of the documents of an archive, which are kept in memory.
const maxDocuments = 16 * maxDocument

// readDocument reads a manifest, configuration or index.
func (a *archive) readDocument(name string) ([]byte, error) {
	r, err := a.open(name)
	if err != nil {
		return nil, err
	}
	if r.Size() > maxDocument {
		return nil, fmt.Errorf("%q has %d bytes, the maximum is %d", name, r.Size(), maxDocument)
	}
	if a.documentBytes += r.Size(); a.documentBytes > maxDocuments {
		return nil, fmt.Errorf("%w: manifests and configurations exceed %d bytes", unpack.ErrTooLarge, maxDocuments)
	}
	return io.ReadAll(r)
}

// checkLayerCount rejects an image with too many layers before any layer is read.
func (a *archive) checkLayerCount(layers int) error {
	if layers > a.maxLayers {
		return fmt.Errorf("%w: %d layers, the maximum is %d", unpack.ErrTooLarge, layers, a.maxLayers)
	}
	return nil
}

// readBlob reads a document of an OCI layout and verifies its digest.
func (a *archive) readBlob(h v1.Hash) ([]byte, error) {
	data, err := a.readDocument(layoutBlobPath(h))
	if err != nil {
		return nil, err
	}
	return data, verifyDigest(data, h)
}

// layer returns a layer of the archive with the digest of its content. Archives of docker save
// do not state that digest; the digest of the unpacked layer is verified in any case.
func (a *archive) layer(name string) (layerBlob, error) {
	r, err := a.open(name)
	if err != nil {
		return layerBlob{}, err
	}
	_, offset, _ := r.Outer()
	h, ok := a.layerDigests[offset]
	if !ok {
		if h, _, err = v1.SHA256(r); err != nil {
			return layerBlob{}, err
		}
		a.layerDigests[offset] = h
	}
	return layerBlob{digest: h, size: r.Size(), open: func() (io.ReadCloser, error) {
		r, err := a.open(name)
		return io.NopCloser(r), err
	}}, nil
}

const (
	// maxIndexDepth bounds the nesting of indexes.
	maxIndexDepth = 4
	// maxPlatforms is the number of platforms that an error names.
	maxPlatforms = 10
	// maxPlatformLength is the length of the longest platform that an error names, in bytes.
	maxPlatformLength = 100
)

// addOtherPlatform records the platform of an image for other machines, unless it is not fit for an error.
func (a *archive) addOtherPlatform(platform string) {
	if len(platform) > maxPlatformLength || strings.ContainsFunc(platform, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return
	}
	if len(a.platforms) < maxPlatforms && !slices.Contains(a.platforms, platform) {
		a.platforms = append(a.platforms, platform)
	}
}

// layoutIndex appends the images of an index that match this machine. Of a nested index it takes only the first match.
// An image without a name in the index gets the given name.
func (a *archive) layoutIndex(data []byte, name string, depth int, out *[]*imageSource) error {
	var index v1.IndexManifest
	if err := json.Unmarshal(data, &index); err != nil {
		return fmt.Errorf("parsing the index: %w", err)
	}
	for _, d := range index.Manifests {
		if p := d.Platform; p != nil && (p.OS != "linux" || p.Architecture != runtime.GOARCH) {
			a.addOtherPlatform(p.String())
			continue
		}
		childName, err := layoutName(d)
		if err != nil {
			return err
		}
		if childName == "" {
			childName = name
		}
		text, err := a.readBlob(d.Digest)
		if err != nil {
			return fmt.Errorf("manifest %s: %w", d.Digest, err)
		}
		if d.MediaType.IsIndex() {
			if depth == maxIndexDepth {
				return fmt.Errorf("index %s: nested too deeply: must be at most %d levels", d.Digest, maxIndexDepth)
			}
			if err := a.layoutIndex(text, childName, depth+1, out); err != nil {
				return err
			}
		} else if d.MediaType.IsImage() || strings.TrimSpace(string(d.MediaType)) == "" {
			src, err := a.layoutImage(d, text, childName)
			if err != nil {
				return err
			}
			*out = append(*out, src)
		}
		if depth > 0 {
			return nil
		}
	}
	return nil
}
