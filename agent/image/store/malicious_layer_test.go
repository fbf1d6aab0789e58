package store_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/berthproject/berth/agent/image/store"
	"github.com/berthproject/berth/agent/image/unpack"
)

// header is an entry of a layer; without a type it is a regular file.
type header struct {
	tar.Header
	content string
}

func file(name, content string) header { return header{tar.Header{Name: name, Mode: 0o644}, content} }

func symlink(name, target string) header {
	return header{tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: target}, ""}
}

func hardLink(name, target string) header {
	return header{tar.Header{Typeflag: tar.TypeLink, Name: name, Linkname: target}, ""}
}

func special(kind byte, name string) header {
	return header{tar.Header{Typeflag: kind, Name: name, Mode: 0o666, Devmajor: 1, Devminor: 3}, ""}
}

func layerOf(t *testing.T, entries ...header) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, h := range entries {
		h.Size = int64(len(h.content))
		if h.Typeflag == 0 {
			h.Typeflag = tar.TypeReg
		}
		if err := w.WriteHeader(&h.Header); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, h.content); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// maliciousLayer is a layer and the expected result: an error that contains wantErr, or an
// image that satisfies check.
type maliciousLayer struct {
	layer   func(t *testing.T, outside string) []byte
	wantErr string
	check   func(t *testing.T, layer string)
}

// layerFrom returns a layer whose entries may refer to an outside path.
func layerFrom(headers func(outside string) []header) func(*testing.T, string) []byte {
	return func(t *testing.T, outside string) []byte { return layerOf(t, headers(outside)...) }
}

func layerWith(h ...header) func(*testing.T, string) []byte {
	return func(t *testing.T, _ string) []byte { return layerOf(t, h...) }
}

var maliciousLayers = map[string]maliciousLayer{
	"a name that leaves the image":         {layer: layerWith(file("../../escape", "x")), wantErr: `name contains ".."`},
	"a name that leaves a directory":       {layer: layerWith(file("a/../../../escape", "x")), wantErr: `name contains ".."`},
	"an absolute name":                     {layer: layerWith(file("/escape", "x")), check: isFile("escape")},
	"file through a link out of the image": {layer: layerFrom(func(o string) []header { return []header{symlink("l", o), file("l/escape", "x")} }), wantErr: "escapes from parent"},
	"a link to a parent directory": {layer: layerWith(symlink("d/l", "../../../../../../../../tmp"), file("d/l/escape", "x")),
		wantErr: "escapes from parent"},
	"a file in the place of a link": {layer: layerFrom(func(o string) []header { return []header{symlink("l", o+"/existing"), file("l", "x")} }), check: isFile("l")},
	"a loop of links":               {layer: layerWith(symlink("a", "b"), symlink("b", "a"), file("a/x", "")), wantErr: "a symbolic link loop"},
	"a link to itself":              {layer: layerWith(symlink("a", "a/a"), file("a/x", "")), wantErr: "a symbolic link loop"},
	"a hard link out of the image":  {layer: layerWith(hardLink("l", "../../../../etc/passwd")), wantErr: `name contains ".."`},
	"a hard link through a link": {layer: layerFrom(func(o string) []header { return []header{symlink("l", o), hardLink("h", "l/existing")} }),
		wantErr: "escapes from parent"},
	"a hard link without a target": {layer: layerWith(hardLink("h", "etc/shadow")), wantErr: "target is not in this layer"},
	"a whiteout through a link": {layer: layerFrom(func(o string) []header { return []header{symlink("l", o), file("l/.wh.existing", "")} }),
		wantErr: "escapes from parent"},
	"an opaque mark through a link": {layer: layerFrom(func(o string) []header { return []header{symlink("l", o), file("l/.wh..wh..opq", "")} }),
		wantErr: "escapes from parent"},
	"whiteout of .":                {layer: layerWith(file("a/.wh..", "")), wantErr: "whiteout without a valid name"},
	"whiteout of ..":               {layer: layerWith(file("a/.wh...", "")), wantErr: "whiteout without a valid name"},
	"a whiteout of a missing file": {layer: layerWith(file(".wh.nothing", ""), file("a", "")), check: isFile("a")},
	"a file in a file":             {layer: layerWith(file("a", ""), file("a/b", "")), wantErr: "is not a directory"},
	"a root that is a link":        {layer: layerWith(symlink("./", "/")), wantErr: "the root of an image must be a directory"},
	"a name that is too long":      {layer: layerWith(file(strings.Repeat("n/", 3000)+"x", "")), wantErr: "the maximum is 4095"},
	"a name that is too deep":      {layer: layerWith(file(strings.Repeat("n/", 300)+"x", "")), wantErr: "path has 301 elements"},
	"a file by a directory link":   {layer: layerWith(symlink("bin", "usr/bin"), file("usr/bin/sh", ""), file("bin/ls", "")), check: isFile("usr/bin/ls")},
	"invalid owners":               {layer: layerWith(header{tar.Header{Name: "a", Uid: -1}, ""}), wantErr: "owner -1:0"},
	"a truncated tar file":         {layer: truncatedLayer, wantErr: "unexpected EOF"},
	"text instead of a tar file":   {layer: func(*testing.T, string) []byte { return bytes.Repeat([]byte("hello"), 1000) }, wantErr: "reading the layer"},
	"a truncated compressed file":  {layer: truncatedGzip, wantErr: "unexpected EOF"},
	"attributes of overlayfs":      {layer: layerWith(attribute("a", "trusted.overlay.redirect"), attribute("b", "user.overlay.redirect")), check: hasNoAttribute},
	"a setuid program of root":     {layer: layerWith(header{tar.Header{Name: "su", Mode: 0o4755}, "x"}), check: isAccessibleToRootOnly},
	"a named pipe":                 {layer: layerWith(special(tar.TypeFifo, "a")), check: func(*testing.T, string) {}},
	"a block device":               {layer: layerWith(special(tar.TypeBlock, "sda")), wantErr: "device files are not allowed"},
	"/dev/mem as a device":         {layer: layerWith(special(tar.TypeChar, "etc/mem")), wantErr: "device files are not allowed"},
	"devices in /dev":              {layer: layerWith(special(tar.TypeChar, "dev/mem"), file("a", "")), check: isFile("a")},
	"a compressed gigabyte":        {layer: zipBomb, wantErr: "bytes unpacked"},
	"a hole of a terabyte":         {layer: sparseFile, wantErr: "bytes unpacked"},
}

func isFile(name string) func(*testing.T, string) {
	return func(t *testing.T, layer string) {
		if info, err := os.Lstat(filepath.Join(layer, name)); err != nil || !info.Mode().IsRegular() {
			t.Errorf("%s: %v, %v, want a file", name, info, err)
		}
	}
}

func truncatedLayer(t *testing.T, _ string) []byte {
	data := layerOf(t, file("a", strings.Repeat("x", 4000)))
	return data[:2000]
}

func truncatedGzip(t *testing.T, _ string) []byte {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	if _, err := z.Write(layerOf(t, file("a", "x"))); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()[:out.Len()/2]
}

// attribute returns an empty file with an extended attribute.
func attribute(file, name string) header {
	return header{tar.Header{Name: file, PAXRecords: map[string]string{"SCHILY.xattr." + name: "/etc"}}, ""}
}

func hasNoAttribute(t *testing.T, layer string) {
	for _, name := range []string{"a", "b"} {
		list := make([]byte, 1000)
		if n, err := unix.Llistxattr(filepath.Join(layer, name), list); err != nil || strings.Contains(string(list[:n]), "overlay") {
			t.Errorf("%s: attributes %q, %v, want none of overlayfs", name, list[:n], err)
		}
	}
}

// isAccessibleToRootOnly checks that only root can reach a setuid program of an image.
func isAccessibleToRootOnly(t *testing.T, layer string) {
	if info, err := os.Stat(filepath.Join(layer, "su")); err != nil || info.Mode() != 0o755|os.ModeSetuid {
		t.Errorf("su: %v, %v, want mode 4755", info.Mode(), err)
	}
	for dir := filepath.Dir(layer); dir != "/"; dir = filepath.Dir(dir) {
		if info, err := os.Stat(dir); err == nil && info.Mode().Perm() == 0o700 && info.Sys().(*syscall.Stat_t).Uid == 0 {
			return
		}
	}
	t.Errorf("%s is accessible to all users, want only root", layer)
}

// zipBomb returns a small gzip layer with 64 MiB of zeroes of a file that states a size of 1 GiB.
func zipBomb(t *testing.T, _ string) []byte {
	var out bytes.Buffer
	z, err := gzip.NewWriterLevel(&out, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	w := tar.NewWriter(z)
	if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "zeroes", Size: 1 << 30}); err != nil {
		t.Fatal(err)
	}
	for range 64 { // the reader stops before the end
		if _, err := w.Write(make([]byte, 1<<20)); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// sparseFile returns a GNU sparse file, which states its size but has no data.
func sparseFile(t *testing.T, _ string) []byte {
	data := layerOf(t, header{tar.Header{Name: "hole", Format: tar.FormatPAX, PAXRecords: map[string]string{
		"NOT.sparse.major": "1", "NOT.sparse.minor": "0", "NOT.sparse.name": "hole", "NOT.sparse.realsize": "1099511627776"}}, "0\n" + strings.Repeat("\x00", 510)})
	return bytes.ReplaceAll(data, []byte("NOT.sparse"), []byte("GNU.sparse"))
}

// TestMaliciousLayers checks that a malicious layer is rejected with a clear error and leaves nothing,
// or is harmless.
func TestMaliciousLayers(t *testing.T) {
	s := open(t, store.Options{Limits: store.Limits{Bytes: 32 << 20, Inodes: 2000}})
	outside := t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "existing"), []byte("existing"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, tc := range maliciousLayers {
		t.Run(name, func(t *testing.T) {
			images, err := s.Load(t.Context(), bytes.NewReader(dockerArchive(t, tc.layer(t, outside))), "malicious", nil)
			if tc.wantErr != "" && (err == nil || !strings.Contains(err.Error(), tc.wantErr)) {
				t.Errorf("Load: %v, want an error with %q", err, tc.wantErr)
			}
			if tc.check != nil {
				if err != nil {
					t.Fatal(err)
				}
				tc.check(t, images[0].LowerDirs[0])
				if err := s.Remove("malicious"); err != nil {
					t.Error(err)
				}
			}
			checkEmpty(t, s)
			if data, err := os.ReadFile(filepath.Join(outside, "existing")); err != nil || string(data) != "existing" {
				t.Errorf("file outside: %q, %v, want it unchanged", data, err)
			}
			if list, _ := os.ReadDir(outside); len(list) != 1 {
				t.Errorf("%d files outside, want 1", len(list))
			}
			if n, _ := unix.Llistxattr(outside, nil); n != 0 {
				t.Errorf("the outside directory has %d bytes of extended attributes, want 0", n)
			}
			if _, err := os.Lstat("/tmp/escape"); err == nil {
				t.Error("/tmp/escape exists, want it not to be created")
			}
		})
	}
}

// TestMillionFiles checks that unpacking stops with an error at the limit of files.
func TestMillionFiles(t *testing.T) {
	for name, entry := range map[string]func(i int) header{
		"files":       func(i int) header { return file(fmt.Sprintf("d%d/%d", i/1000, i), "") },
		"directories": func(i int) header { return special(tar.TypeDir, fmt.Sprint("d", i)) },
		"links":       func(i int) header { return symlink(fmt.Sprint("l", i), "x") },
		"hard links":  func(i int) header { return hardLink(fmt.Sprint("h", i), "d0/0") },
		"whiteouts":   func(i int) header { return file(fmt.Sprint(".wh.", i), "") },
		"one file":    func(int) header { return file("same", "") },
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, store.Options{})
			r, w := io.Pipe()
			written := make(chan int, 1)
			go func() {
				i, out := 0, tar.NewWriter(w)
				first := file("d0/0", "")
				err := out.WriteHeader(&first.Header)
				for ; err == nil && i < 1_000_000; i++ {
					h := entry(i)
					err = out.WriteHeader(&h.Header)
				}
				w.CloseWithError(err)
				written <- i
			}()
			_, err := unpack.Layer(t.Context(), filepath.Join(s.Dir(), "empty"), r, unpack.NewBudget(unpack.Size{Bytes: 1 << 40, Inodes: 500}, s.Dir(), 0))
			r.Close()
			if n := <-written; !errors.Is(err, unpack.ErrTooLarge) || !strings.Contains(err.Error(), "more than 500 files, directories and links") || n > 1000 {
				t.Errorf("Layer: %v after %d entries, want \"more than 500 files, directories and links\" after at most 1000", err, n)
			}
		})
	}
}
