package pki

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"
)

func TestRunRenewalRenewsAndReportsErrors(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		a, err := Open(dir, nil)
		if err != nil {
			t.Fatal(err)
		}
		certFile, _, err := a.ServingPair(APIServerAltNames(nil))
		if err != nil {
			t.Fatal(err)
		}
		first := read(t, certFile)
		ctx, cancel := context.WithCancel(t.Context())
		var failures []error
		go a.RunRenewal(ctx, 12*time.Hour, APIServerAltNames(nil), func(err error) { failures = append(failures, err) })
		after := func(d time.Duration) []byte {
			time.Sleep(d) // the fake clock of the synctest bubble
			synctest.Wait()
			return read(t, certFile)
		}
		if !bytes.Equal(first, after(leafLifetime/2)) {
			t.Error("after half of the lifetime: got a new certificate, want the first one")
		}
		if bytes.Equal(first, after(leafLifetime/100*41)) {
			t.Error("after 91 % of the lifetime: got the first certificate, want a new one")
		}
		if len(failures) != 0 {
			t.Errorf("got errors %v, want none", failures)
		}
		if err := os.WriteFile(filepath.Join(dir, "apiserver.crt"), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		if after(13 * time.Hour); len(failures) == 0 {
			t.Error("damaged file: got no error, want one")
		}
		cancel()
	})
}
