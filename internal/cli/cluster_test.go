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
	if _, err := (&Cluster{Context: "e"}).Config("test"); err == nil || !strings.Contains(err.Error(), `context "e" does not exist`) {
		t.Errorf("unknown context: got error %v, want it to name the context", err)
	}
}

// TestClientConfigMissingFile checks that the error names the variable and the file.
func TestClientConfigMissingFile(t *testing.T) {
	t.Setenv("KUBECONFIG", "/does/not/exist")
	if _, err := ClientConfig("", "test"); err == nil || !strings.Contains(err.Error(), "KUBECONFIG /does/not/exist: ") {
		t.Errorf("got error %v, want one with KUBECONFIG and the file", err)
	}
}
