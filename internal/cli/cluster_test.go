package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const kubeconfigFormat = `apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://HOST:6443"}}]
contexts: [{name: c, context: {cluster: c, user: u}}]
users: [{name: u, user: {}}]
current-context: c
`

// TestClientConfigPrecedence checks that the flag is preferred to KUBECONFIG.
func TestClientConfigPrecedence(t *testing.T) {
	writeKubeconfig := func(host string) string {
		file := filepath.Join(t.TempDir(), host)
		if err := os.WriteFile(file, []byte(strings.ReplaceAll(kubeconfigFormat, "HOST", host)), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	t.Setenv("KUBECONFIG", writeKubeconfig("from-env"))
	for flag, want := range map[string]string{"": "from-env", writeKubeconfig("from-flag"): "from-flag"} {
		if config, err := ClientConfig(flag, "test"); err != nil || config.Host != "https://"+want+":6443" {
			t.Errorf("--kubeconfig %q: got %+v and error %v, want host %s", flag, config, err, want)
		}
	}
}

// TestContext checks that --context and the context's namespace are used, also of a list of files.
func TestContext(t *testing.T) {
	write := func(name, text string) string {
		file := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	first := write("first", strings.ReplaceAll(kubeconfigFormat, "HOST", "first"))
	second := write("second", `apiVersion: v1
kind: Config
clusters: [{name: d, cluster: {server: "https://second:6443"}}]
contexts: [{name: d, context: {cluster: d, user: u, namespace: shop}}]
`)
	t.Setenv("KUBECONFIG", "/does/not/exist:"+first+":"+second)
	for context, want := range map[string]struct{ host, namespace, dir string }{
		"":  {"https://first:6443", "default", filepath.Dir(first)},
		"c": {"https://first:6443", "default", filepath.Dir(first)},
		"d": {"https://second:6443", "shop", filepath.Dir(second)},
	} {
		cluster := Cluster{Context: context}
		config, err := cluster.Config("test")
		if err != nil || config.Host != want.host || cluster.Namespace() != want.namespace || cluster.Dir() != want.dir {
			t.Errorf("--context %q: got %+v, error %v, namespace %s and directory %s, want %+v", context, config, err, cluster.Namespace(), cluster.Dir(), want)
		}
	}
	if got := (&Cluster{}).Contexts(); !slices.Equal(got, []string{"c", "d"}) {
		t.Errorf("got contexts %q, want c and d", got)
	}
	if _, err := (&Cluster{Context: "e"}).Config("test"); err == nil || !strings.Contains(err.Error(), `--context "e": must be one of c, d`) {
		t.Errorf("unknown context: got error %v, want it to name the context and those of the file", err)
	}
}

// TestClientConfigBadFile checks that the errors of a missing and a malformed file name the variable or flag and the file.
func TestClientConfigBadFile(t *testing.T) {
	malformed := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(malformed, []byte("node n1"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ClientConfig(malformed, "test"); err == nil || !strings.Contains(err.Error(), malformed+": must be a kubeconfig") {
		t.Errorf("malformed file: got error %v, want one with the file and what it must be", err)
	}
	t.Setenv("KUBECONFIG", "/does/not/exist")
	if _, err := ClientConfig("", "test"); err == nil || !strings.Contains(err.Error(), "KUBECONFIG /does/not/exist: ") {
		t.Errorf("got error %v, want one with KUBECONFIG and the file", err)
	}
}
