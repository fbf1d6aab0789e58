package unpack_test

import (
	"archive/tar"
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berthproject/berth/agent/image/unpack"
	"github.com/berthproject/berth/internal/testkit"
)

// seed returns a layer of entries in the form "TYPE NAME TARGET".
func seed(f *testing.F, entries ...string) []byte {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, e := range entries {
		parts := strings.Split(e, " ")
		h := &tar.Header{Typeflag: parts[0][0], Name: parts[1], Mode: 0o755}
		if len(parts) > 2 {
			h.Linkname = parts[2]
		}
		if err := w.WriteHeader(h); err != nil {
			f.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		f.Fatal(err)
	}
	return out.Bytes()
}

// FuzzLayer checks for any input that changes stay within the layer's directory and the budget.
func FuzzLayer(f *testing.F) {
	if os.Geteuid() != 0 {
		testkit.SkipOrFail(f, "root", "layers have owners and whiteouts")
	}
	f.Add(seed(f, "5 a/", "0 a/b", "2 l a", "0 l/c", "1 h a/b", "0 a/.wh.c", "0 a/.wh..wh..opq"))
	f.Add(seed(f, "2 l ../outside", "0 l", "1 h l", "2 up ..", "0 up/outside", "0 up/.wh.outside"))
	f.Add(seed(f, "0 ../outside", "0 /outside", "2 a b", "2 b a", "0 a/c", "6 p", "3 dev/null", "3 null"))
	f.Add(seed(f, "0 .wh.a", "0 a/b", "5 a/", "2 a ..", "5 a/b/"))
	limit := unpack.Size{Bytes: 1 << 20, Inodes: 100}
	f.Fuzz(func(t *testing.T, data []byte) {
		dir := t.TempDir()
		layer, outside := filepath.Join(dir, "layer"), filepath.Join(dir, "outside")
		if err := os.Mkdir(layer, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(outside, []byte("outside"), 0o600); err != nil {
			t.Fatal(err)
		}
		_, _ = unpack.Layer(t.Context(), layer, bytes.NewReader(data), unpack.NewBudget(limit, dir, 0))
		if text, err := os.ReadFile(outside); err != nil || string(text) != "outside" {
			t.Errorf("file outside: %q, %v, want it unchanged", text, err)
		}
		if info, err := os.Lstat(outside); err != nil || info.Mode() != 0o600 {
			t.Errorf("file outside: %v, %v, want mode 0600", info, err)
		}
		if list, err := os.ReadDir(dir); err != nil || len(list) != 2 {
			t.Errorf("%d entries outside, %v, want 2", len(list), err)
		}
		inodes := int64(0)
		_ = filepath.WalkDir(layer, func(string, os.DirEntry, error) error {
			inodes++
			return nil
		})
		if inodes > limit.Inodes {
			t.Errorf("%d files, want at most %d", inodes, limit.Inodes)
		}
	})
}
