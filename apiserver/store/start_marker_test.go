package store

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// openDirEnv is set in the process that TestDamageAboveTheLimit starts.
const openDirEnv = "BERTH_TEST_OPEN_STORE"

// withCheckLimit changes maxCheckedBytes for a test.
func withCheckLimit(t *testing.T, size int64) {
	previous := maxCheckedBytes
	maxCheckedBytes = size
	t.Cleanup(func() { maxCheckedBytes = previous })
}

// TestDamageAboveTheLimit checks a damaged database that is larger than those that are checked at each start. etcd
// may end the first process; the second one reports the damage in one line.
func TestDamageAboveTheLimit(t *testing.T) {
	withCheckLimit(t, 0)
	if dir := os.Getenv(openDirEnv); dir != "" {
		if b, err := OpenEmbedded(context.Background(), dir); err != nil {
			t.Fatal(err)
		} else if _, err := b.client.KV.Get(context.Background(), "/registry/pods/0001"); err != nil {
			t.Fatal(err)
		}
		os.Exit(3) // without closing the store
	}
	dir := t.TempDir()
	populate(t, dir, 400)
	path := databasePath(filepath.Join(dir, "etcd"))
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for page := 2; (page+1)*4096 <= len(data); page++ { // after the two pages of metadata
		for i := range 64 {
			data[page*4096+i] ^= byte(0xa5 + i)
		}
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	first := exec.Command(os.Args[0], "-test.run", "^TestDamageAboveTheLimit$")
	first.Env = append(os.Environ(), openDirEnv+"="+dir)
	if output, err := first.CombinedOutput(); err == nil || first.ProcessState.ExitCode() == 3 || !bytes.Contains(output, []byte("panic")) && !bytes.Contains(output, []byte("damaged")) {
		t.Fatalf("first start: got error %v and output\n%s\nwant a panic or an error because of the damage", err, output)
	}
	if _, err := os.Stat(filepath.Join(dir, "etcd-starting")); err != nil {
		t.Errorf("marker of the first start: %v, want a file", err)
	}
	_, err = OpenEmbedded(t.Context(), dir)
	if err == nil || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), "berth server check "+dir) {
		t.Errorf("second start: got error %v, want one line with the next step", err)
	}
}

// TestStartMarker checks that the marker exists after the start and is removed when the store is closed. It does not
// prevent the start of an intact store.
func TestStartMarker(t *testing.T) {
	withCheckLimit(t, 0)
	dir := t.TempDir()
	for range 2 {
		b := open(t, dir)
		if _, err := os.Stat(filepath.Join(dir, "etcd-starting")); err != nil {
			t.Errorf("after the start: %v, want a marker until the store has settled", err)
		}
		b.Close()
		if _, err := os.Stat(filepath.Join(dir, "etcd-starting")); !os.IsNotExist(err) {
			t.Errorf("after the end: got error %v, want no marker", err)
		}
		if _, incomplete := markStart(dir); incomplete { // the next start finds the marker of a process that ended
			t.Error("marker of a closed store: got an incomplete start, want none")
		}
	}
}
