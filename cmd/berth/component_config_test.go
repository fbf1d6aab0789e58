package main

import (
	"os"
	"path/filepath"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

func TestCertificateDir(t *testing.T) {
	dir := t.TempDir()
	empty, current := filepath.Join(dir, "empty"), filepath.Join(dir, "current")
	config := api.NewConfig()
	config.Contexts["c"], config.CurrentContext = &api.Context{}, "c"
	if err := clientcmd.WriteToFile(*config, current); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ flag, env, state, want string }{
		{"", "", "", ""},
		{"/k", "", "", "/k.certificates"},
		{"", current, "", current + ".certificates"},
		{"", empty + string(filepath.ListSeparator) + current, "", current + ".certificates"},
		{"/k", current, "", "/k.certificates"},
		{"/k", "", "/state", "/state/certificates"},
		{"", current, "/state:/other", "/state/certificates"},
	} {
		t.Setenv("KUBECONFIG", tc.env)
		t.Setenv("STATE_DIRECTORY", tc.state)
		if got := certificateDir(tc.flag); got != tc.want {
			t.Errorf("--kubeconfig %q, KUBECONFIG %q, STATE_DIRECTORY %q: got %q, want %q", tc.flag, tc.env, tc.state, got, tc.want)
		}
	}
}
