package cli

import (
	"os"
	"path/filepath"
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

// TestClientConfigMissingFile checks that the error names the variable and the file.
func TestClientConfigMissingFile(t *testing.T) {
	t.Setenv("KUBECONFIG", "/does/not/exist")
	if _, err := ClientConfig("", "test"); err == nil || !strings.Contains(err.Error(), "KUBECONFIG /does/not/exist: ") {
		t.Errorf("got error %v, want one with KUBECONFIG and the file", err)
	}
}
