package store_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/berthproject/berth/agent/image/store"
	_ "github.com/berthproject/berth/agent/testprogram" // its init function runs in a process with its name
)

// TestBuiltin checks that the built-in images run in an otherwise empty directory and are built once.
func TestBuiltin(t *testing.T) {
	s := open(t, store.Options{})
	if err := s.EnsureBuiltin(t.Context()); err != nil {
		t.Fatal(err)
	}
	list, err := s.List()
	if err != nil || len(list) != 2 || !list[0].Builtin || !slices.Equal(list[0].RepoTags, []string{store.PauseImage}) || !slices.Equal(list[1].RepoTags, []string{store.TestProgramImage}) {
		t.Fatalf("images %+v, %v, want the built-in ones", list, err)
	}
	before, err := os.Stat(filepath.Join(list[1].LowerDirs[0], "workload"))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.EnsureBuiltin(t.Context()); err != nil {
		t.Fatal(err)
	}
	reopened, err := store.Open(s.Dir(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	image, err := reopened.Resolve(store.TestProgramImage)
	if err != nil {
		t.Fatal(err)
	}
	if after, err := os.Stat(filepath.Join(image.LowerDirs[0], "workload")); err != nil || !os.SameFile(before, after) {
		t.Errorf("program of the image: %v, want the same file as before", err)
	}
	cmd := exec.Command(image.Config.Entrypoint[0], "echo", "all", "is", "well")
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: mountLayers(t, image), Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	cmd.Dir, cmd.Env = "/", image.Config.Env
	if out, err := cmd.Output(); err != nil || string(out) != "all is well\n" {
		t.Errorf("output %q, %v, want all is well", out, err)
	}
	if _, err := s.Pull(t.Context(), "berth.dev/workload:1", nil, nil); err != nil {
		t.Errorf("Pull of a built-in image: %v, want no error", err)
	}
}

// TestBuiltinIsShared checks that stores that share the built-in images do not duplicate them.
func TestBuiltinIsShared(t *testing.T) {
	shared := open(t, store.Options{})
	s := open(t, store.Options{BuiltinDir: shared.Dir()})
	if _, err := s.Pull(t.Context(), store.TestProgramImage, nil, nil); err == nil || !strings.Contains(err.Error(), "cannot be pulled") {
		t.Errorf("Pull before EnsureBuiltin: %v, want cannot be pulled", err)
	}
	if err := s.EnsureBuiltin(t.Context()); err != nil {
		t.Fatal(err)
	}
	checkEmpty(t, s)
	image, err := s.Acquire("c1", store.TestProgramImage)
	if err != nil || !strings.HasPrefix(image.LowerDirs[0], shared.Dir()) {
		t.Fatalf("image %+v, %v, want layers in %s", image, err, shared.Dir())
	}
	if users, err := s.Users(); err != nil || !slices.Equal(users, []string{"c1"}) {
		t.Errorf("users %q, %v, want c1", users, err)
	}
	if err := shared.Remove(store.TestProgramImage); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(image.LowerDirs[0]); err != nil {
		t.Errorf("layer in use after the removal of the image: %v, want it to exist", err)
	}
	if err := s.Release("c1"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(image.LowerDirs[0]); err == nil {
		t.Error("the layer exists after the last user has released it, want it removed")
	}
}
