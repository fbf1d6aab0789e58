package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berthproject/berth/apiserver/auth/pki"
	"github.com/berthproject/berth/internal/cli"
)

// TestCredentialsRequireClusterCA checks that credentials require the CA of the cluster in the data directory, and that
// the command creates no CA.
func TestCredentialsRequireClusterCA(t *testing.T) {
	openAuthority := func(dir string) *pki.Authority {
		t.Helper()
		a, err := pki.Open(filepath.Join(dir, "pki"), nil)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	cluster := openAuthority(t.TempDir())
	for name, tc := range map[string]struct {
		prepare func(dir string)
		want    string // in the error; empty for no error
	}{
		"no CA (ephemeral)":        {func(string) {}, "--ephemeral"},
		"CA of an earlier cluster": {func(dir string) { openAuthority(dir) }, "--ephemeral"},
		"CA of this cluster":       {func(dir string) { cluster = openAuthority(dir) }, ""},
	} {
		dir := t.TempDir()
		tc.prepare(dir)
		if err := cluster.Kubeconfig(cli.KubeconfigPath(dir), "https://127.0.0.1:6443", pki.Admin()); err != nil {
			t.Fatal(err)
		}
		_, errBefore := os.Stat(filepath.Join(dir, "pki"))
		_, err := newKubeconfig(dir, pki.Node("n7"))
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s: got error %v, want %q in it", name, err, tc.want)
		}
		if _, err := os.Stat(filepath.Join(dir, "pki")); (err == nil) != (errBefore == nil) {
			t.Errorf("%s: CA directory: got error %v after the command, want %v as before", name, err, errBefore)
		}
	}
}
