package store_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// modTime is the modification time of the files of TestLayerFidelity.
var modTime = time.Date(2001, 2, 3, 4, 5, 6, 0, time.UTC)

func archiveOf(t *testing.T, layers ...[]byte) io.Reader {
	return bytes.NewReader(dockerArchive(t, layers...))
}

// checkLayerFidelity compares an unpacked layer with the one that TestLayerFidelity packed.
func checkLayerFidelity(t *testing.T, layer string) {
	t.Helper()
	for name, want := range map[string]struct {
		mode     os.FileMode
		uid, gid uint32
	}{"d": {os.ModeDir | os.ModeSticky | 0o750, 7, 8}, "d/f": {os.ModeSetgid | 0o641, 9, 10}} {
		info, err := os.Lstat(filepath.Join(layer, name))
		if err != nil {
			t.Fatal(err)
		}
		owner := info.Sys().(*syscall.Stat_t)
		if info.Mode() != want.mode || owner.Uid != want.uid || owner.Gid != want.gid || !info.ModTime().Equal(modTime) {
			t.Errorf("%s: %v, %d:%d, %v; want %v, %d:%d, %v", name, info.Mode(), owner.Uid, owner.Gid, info.ModTime(), want.mode, want.uid, want.gid, modTime)
		}
	}
	target, err := os.Lstat(filepath.Join(layer, "d/f"))
	if err != nil {
		t.Fatal(err)
	}
	if link, err := os.Lstat(filepath.Join(layer, "d/h")); err != nil || !os.SameFile(target, link) {
		t.Errorf("d/h: %v, want a hard link to d/f", err)
	}
	if target, err := os.Readlink(filepath.Join(layer, "d/s")); err != nil || target != "/etc/passwd" {
		t.Errorf("d/s links to %q, %v, want /etc/passwd", target, err)
	}
	note := make([]byte, 10)
	if n, err := unix.Getxattr(filepath.Join(layer, "d/x"), "user.note", note); err != nil || string(note[:n]) != "yes" {
		t.Errorf("attribute of d/x: %q, %v, want yes", note[:max(n, 0)], err)
	}
}
