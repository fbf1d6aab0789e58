package store

import (
	"context"
	"errors"
	"io"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// ErrNotFound says that an image is not in the store.
var ErrNotFound = errors.New("image is not in the store")

// Limits of one image. Zero fields are those of DefaultLimits.
type Limits struct {
	Bytes  int64 // unpacked, all layers
	Inodes int64 // files, directories and links, all layers
	Layers int
	// Spare is how many bytes of the disk unpacking leaves free.
	Spare int64
}

// Options of a Store. All are optional.
type Options struct {
	Limits Limits
	// BuiltinDir is where the layers of built-in images are, "" for the store's own directory.
	// Stores of one machine may share it.
	BuiltinDir string
}

// Store holds images. It may be used from many goroutines.
type Store struct {
	dir  string
	opts Options
}

// Image is an image of the store.
type Image struct {
	ID     string    // digest of its configuration, sha256:...
	Names  []string  // with tags, in full: docker.io/library/busybox:1; sorted
	Pulled []string  // names with digests, as repositories have it; sorted
	Config v1.Config // what a container runs unless told otherwise
	// Lower are the unpacked layers, the topmost first, as overlay's lowerdir wants them. Absolute.
	Lower   []string
	Bytes   int64 // on disk, shared layers included
	Inodes  int64
	Builtin bool // made from this program; it is never to be collected
}

// Auth is what a registry is told. Fields are those of an image pull secret.
type Auth struct {
	Username, Password, IdentityToken, RegistryToken string
}

// Progress is called while layers come: of the layer, done bytes of total (packed) are here.
type Progress func(layer string, done, total int64)

var errNotYet = errors.New("image store: not there yet")

// Open makes the store's directory if need be, and removes what a killed process left.
func Open(dir string, o Options) (*Store, error) { return nil, errNotYet }

// Pull brings an image from its registry and returns it. Over plain HTTP only
// from this machine. A nil auth is anonymous.
func (s *Store) Pull(ctx context.Context, name string, auth *Auth, progress Progress) (Image, error) { return Image{}, errNotYet }

// Load brings the images of a tar file, of `docker save` or an OCI layout, and returns them. Those without
// a name in the file get name, which may be empty.
func (s *Store) Load(ctx context.Context, file io.Reader, name string, progress Progress) ([]Image, error) { return nil, errNotYet }

// Builtin makes the images that are made from the running program, PauseImage and
// WorkloadImage, unless they are there.
func (s *Store) Builtin(ctx context.Context) error { return errNotYet }

// Resolve finds an image by a name (busybox, docker.io/library/busybox:latest, NAME@DIGEST), or by its
// id or the beginning of it. The error is ErrNotFound if there is none.
func (s *Store) Resolve(name string) (Image, error) { return Image{}, errNotYet }

// List is all images, by id.
func (s *Store) List() ([]Image, error) { return nil, errNotYet }

// Remove removes an image with all its names, when name is an id, or else that name, and the image
// with its last one. Layers that another image or a container uses stay until they are free.
func (s *Store) Remove(name string) error { return errNotYet }

// Use keeps the layers of an image for a container, until Drop, across restarts.
func (s *Store) Use(container, name string) (Image, error) { return Image{}, errNotYet }

// Drop ends what Use began. It is no error if it was not in use.
func (s *Store) Drop(container string) error { return errNotYet }

// Usage of the store.
type Usage struct {
	Dir           string
	Bytes, Inodes int64
}

// Usage is what all images hold.
func (s *Store) Usage() (Usage, error) { return Usage{}, errNotYet }
