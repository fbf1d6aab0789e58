package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berthproject/berth/apiserver/auth/pki"
	"github.com/berthproject/berth/internal/cli"
)

// TestCredentialsRequireClusterCA checks the error for an ephemeral cluster, which keeps only its kubeconfig in the data directory.
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
		want    string // in the error; empty: none
	}{
		"ephemeral":             {func(string) {}, "--ephemeral"},
		"of an earlier cluster": {func(dir string) { openAuthority(dir) }, "--ephemeral"},
		"of this cluster":       {func(dir string) { cluster = openAuthority(dir) }, ""},
	} {
		dir := t.TempDir()
		tc.prepare(dir)
		if err := cluster.Kubeconfig(cli.KubeconfigPath(dir), "https://127.0.0.1:6443", pki.Admin()); err != nil {
			t.Fatal(err)
		}
		_, hadCA := os.Stat(filepath.Join(dir, "pki"))
		_, err := newKubeconfig(dir, pki.Node("n7"))
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s: got error %v, want %q in it", name, err, tc.want)
		}
		if _, err := os.Stat(filepath.Join(dir, "pki")); (err == nil) != (hadCA == nil) {
			t.Errorf("%s: the command created a certificate authority", name)
		}
	}
}
