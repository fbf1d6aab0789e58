package store_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"golang.org/x/sys/unix"

	"github.com/berthproject/berth/agent/image/oci"
	"github.com/berthproject/berth/agent/image/store"
	"github.com/berthproject/berth/internal/testkit"
)

// open opens a store that is removed when the test ends.
func open(t *testing.T, o store.Options) *store.Store {
	t.Helper()
	if os.Geteuid() != 0 {
		testkit.SkipOrFail(t, "root", "layers have owners and whiteouts")
	}
	if o.Limits.MinFree == 0 {
		o.Limits.MinFree = -1 // even if the disk is nearly full
	}
	if o.InsecureRegistries == nil {
		o.InsecureRegistries = []string{"127.0.0.1"}
	}
	s, err := store.Open(filepath.Join(t.TempDir(), "images"), o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func build(t *testing.T, layers ...[]oci.File) v1.Image {
	t.Helper()
	image, err := oci.Build(oci.Spec{Layers: layers, Entrypoint: []string{"/bin/app"}, User: "1000"})
	if err != nil {
		t.Fatal(err)
	}
	return image
}

// serve starts a registry with the images as team/app:TAG.
func serve(t *testing.T, images map[string]v1.Image) *oci.Registry {
	t.Helper()
	r, err := oci.StartRegistry()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	for tag, image := range images {
		if _, err := r.Add("team/app", tag, image); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// mountLayers mounts the layers like a container's root and returns the mount point.
func mountLayers(t *testing.T, image store.Image) string {
	t.Helper()
	dir, upper := t.TempDir(), t.TempDir()
	for _, d := range []string{"upper", "work"} {
		if err := os.Mkdir(filepath.Join(upper, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	options := "lowerdir=" + strings.Join(image.LowerDirs, ":") + ",upperdir=" + upper + "/upper,workdir=" + upper + "/work"
	if err := unix.Mount("overlay", dir, "overlay", 0, options); err != nil {
		testkit.SkipOrFail(t, "overlay", err.Error())
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	return dir
}

func pull(t *testing.T, s *store.Store, name string) store.Image {
	t.Helper()
	image, err := s.Pull(t.Context(), name, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return image
}

// checkEmpty checks that the store contains nothing.
func checkEmpty(t *testing.T, s *store.Store) {
	t.Helper()
	for _, dir := range []string{"layers", "tmp", "uses", "blobs/sha256"} {
		remaining, err := os.ReadDir(filepath.Join(s.Dir(), dir))
		if err != nil {
			t.Fatal(err)
		}
		if len(remaining) > 0 {
			t.Errorf("%s has %d entries, such as %s, want none", dir, len(remaining), remaining[0].Name())
		}
	}
}

// TestPullUseRemove checks the layers of a pulled image, and that layers in use are kept until they are
// released.
func TestPullUseRemove(t *testing.T) {
	base := []oci.File{{Path: "/bin/app", Mode: 0o755, Data: []byte("app")}, {Path: "/etc/old", Mode: 0o644, Data: []byte("old")}, {Path: "/var/a/b", Mode: 0o600}}
	one := build(t, base, []oci.File{{Path: "/etc/.wh.old"}, {Path: "/etc/new", Mode: 0o644}, {Path: "/var/a/.wh..wh..opq"}, {Path: "/var/a/c", Mode: 0o600}})
	two := build(t, base)
	r := serve(t, map[string]v1.Image{"1": one, "2": two})
	s := open(t, store.Options{})
	image := pull(t, s, r.Host()+"/team/app:1")
	if image.Config.User != "1000" || len(image.LowerDirs) != 2 || !slices.Equal(image.RepoTags, []string{r.Host() + "/team/app:1"}) || len(image.RepoDigests) != 1 {
		t.Fatalf("image %+v, want user 1000, two layers, one tag and one digest", image)
	}
	root := mountLayers(t, image)
	var got []string
	_ = filepath.WalkDir(root, func(path string, _ os.DirEntry, _ error) error {
		got = append(got, strings.TrimPrefix(path, root))
		return nil
	})
	if want := []string{"", "/bin", "/bin/app", "/etc", "/etc/new", "/var", "/var/a", "/var/a/c"}; !slices.Equal(got, want) {
		t.Errorf("the mounted root contains %q, want %q", got, want)
	}
	if other := pull(t, s, r.Host()+"/team/app:2"); other.LowerDirs[0] != image.LowerDirs[1] {
		t.Errorf("shared layer in %s and %s, want one directory", other.LowerDirs[0], image.LowerDirs[1])
	}
	if u, err := s.Usage(); err != nil || u.Inodes != 8+7 {
		t.Errorf("usage %+v, %v, want 15 inodes", u, err)
	}
	if _, err := s.Acquire("c1", image.ID); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{image.ID, image.RepoDigests[0], image.RepoTags[0], image.ID[7:20]} {
		if got, err := s.Resolve(name); err != nil || got.ID != image.ID {
			t.Errorf("Resolve(%s): %v, %v, want %s", name, got.ID, err, image.ID)
		}
	}
	for _, name := range []string{image.ID, r.Host() + "/team/app:2"} {
		if err := s.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Resolve(image.ID); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("Resolve of a removed image: %v, want ErrNotFound", err)
	}
	if _, err := os.Stat(image.LowerDirs[0]); err != nil {
		t.Errorf("layer in use after the removal of the image: %v, want it to exist", err)
	}
	if err := s.Release("c1"); err != nil {
		t.Fatal(err)
	}
	checkEmpty(t, s)
}
