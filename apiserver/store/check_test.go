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

func TestCheckReportsIntactStore(t *testing.T) {
	dir := t.TempDir()
	if _, err := Check(dir); err == nil || !strings.Contains(err.Error(), "no store in "+dir) {
		t.Errorf("Check of an empty directory: %v, want no store in %s", err, dir)
	}
	populate(t, dir, 100)
	result, err := Check(dir)
	if err != nil || !result.Intact || len(result.Parts) != 3 {
		t.Errorf("Check of an intact store: got %+v and error %v, want 3 intact parts", result, err)
	}
	b := open(t, dir)
	if _, err := Check(dir); err == nil || !strings.Contains(err.Error(), "is in use") {
		t.Errorf("Check of a store in use: %v, want is in use", err)
	}
	if err := b.Check(t.Context()); err != nil {
		t.Errorf("Check of an open store: %v, want no error", err)
	}
}

// TestDamagedDatabaseIsReported checks that Check reports damage to a page without a crash, unless the page is
// unused. Opening the store returns an error and does not panic.
func TestDamagedDatabaseIsReported(t *testing.T) {
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
		return catchPanic(func() error { return checkDatabase(path) })
	}
	detected := 0
	for page := range 120 { // the remaining pages are free
		damaged := bytes.Clone(intact)
		for i := range 64 {
			damaged[page*4096+i] ^= byte(0xa5 + i)
		}
		if check(damaged) == nil {
			continue
		}
		if detected++; detected > 3 {
			continue
		}
		if result, err := Check(dir); err != nil || result.Intact || result.Parts[0].Error == "" {
			t.Errorf("page %d is damaged: got result %+v and error %v, want an error of the database", page, result, err)
		}
		_, err = OpenEmbedded(t.Context(), dir)
		if err == nil || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), "berth server check "+dir) {
			t.Errorf("page %d is damaged: OpenEmbedded: got error %v, want one line with the next step", page, err)
		}
	}
	if detected < 40 {
		t.Errorf("damage was detected in %d of 120 pages, want at least 40", detected)
	}
	for _, size := range []int{10, 4096, 8 * 4096, 20 * 4096} {
		if check(intact[:size]) == nil {
			t.Errorf("a database truncated to %d bytes is reported as intact", size)
		}
	}
}

func TestDamagedLogIsReported(t *testing.T) {
	dir := t.TempDir()
	populate(t, dir, 100)
	files, err := filepath.Glob(filepath.Join(dir, "etcd", "member", "wal", "*.wal"))
	if err != nil || len(files) == 0 {
		t.Fatalf("got log files %v and error %v, want at least one file", files, err)
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
		t.Errorf("Check of a damaged log: got %+v and error %v, want an error of the log", result, err)
	}
	if _, err := OpenEmbedded(t.Context(), dir); err == nil || !strings.Contains(err.Error(), "berth server check") {
		t.Errorf("OpenEmbedded with a damaged log: %v, want the next step", err)
	}
}
