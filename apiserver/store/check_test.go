package store

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// populate writes objects to a new store and closes it.
func populate(t *testing.T, dir string, objects int) {
	t.Helper()
	b, err := OpenEmbedded(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	for n := range objects {
		if _, err := b.client.Client.Put(t.Context(), fmt.Sprintf("/registry/pods/%04d", n), strings.Repeat("v", 500)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestCheckIntactStore(t *testing.T) {
	dir := t.TempDir()
	if _, err := Check(dir); err == nil || !strings.Contains(err.Error(), "no store in "+dir) {
		t.Errorf("an empty directory: %v", err)
	}
	populate(t, dir, 100)
	result, err := Check(dir)
	if err != nil || !result.Intact || len(result.Parts) != 3 {
		t.Errorf("an intact store: %+v, %v", result, err)
	}
	b := open(t, dir)
	if _, err := Check(dir); err == nil || !strings.Contains(err.Error(), "is in use") {
		t.Errorf("a store in use: %v", err)
	}
	if err := b.Check(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestDamagedDatabase checks that damage to a page is reported without a crash, unless the page is
// unused, and that opening the store returns an error instead of a panic.
func TestDamagedDatabase(t *testing.T) {
	dir := t.TempDir()
	populate(t, dir, 400)
	path := databasePath(filepath.Join(dir, "etcd"))
	intact, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	check := func(data []byte) error {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return recovered(func() error { return checkDatabase(path) })
	}
	found := 0
	for page := range 120 { // the rest of the file is free
		damaged := bytes.Clone(intact)
		for i := range 64 {
			damaged[page*4096+i] ^= byte(0xa5 + i)
		}
		if check(damaged) == nil {
			continue
		}
		if found++; found > 3 {
			continue
		}
		if result, err := Check(dir); err != nil || result.Intact || result.Parts[0].Error == "" {
			t.Errorf("page %d is damaged: %+v, %v", page, result, err)
		}
		_, err = OpenEmbedded(t.Context(), dir)
		if err == nil || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), "berth server check "+dir) {
			t.Errorf("page %d is damaged: start: %v, want one line with the next step", page, err)
		}
	}
	if found < 40 {
		t.Errorf("damage was found in %d of 120 pages", found)
	}
	for _, size := range []int{10, 4096, 8 * 4096, 20 * 4096} {
		if check(intact[:size]) == nil {
			t.Errorf("a database cut to %d bytes is intact", size)
		}
	}
}

func TestDamagedLog(t *testing.T) {
	dir := t.TempDir()
	populate(t, dir, 100)
	files, err := filepath.Glob(filepath.Join(dir, "etcd", "member", "wal", "*.wal"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	data, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	written := len(bytes.TrimRight(data, "\x00")) // the file is preallocated
	for i := range 32 {
		data[written/2+i] ^= 0xff
	}
	if err := os.WriteFile(files[0], data, 0o600); err != nil {
		t.Fatal(err)
	}
	result, err := Check(dir)
	if err != nil || result.Intact || result.Parts[1].Error == "" {
		t.Errorf("a damaged log: %+v, %v", result, err)
	}
	if _, err := OpenEmbedded(t.Context(), dir); err == nil || !strings.Contains(err.Error(), "berth server check") {
		t.Errorf("start with a damaged log: %v, want the next step", err)
	}
}
