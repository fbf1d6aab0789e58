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
	write := func(host string) string {
		file := filepath.Join(t.TempDir(), host)
		if err := os.WriteFile(file, []byte(strings.ReplaceAll(kubeconfigFormat, "HOST", host)), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	t.Setenv("KUBECONFIG", write("from-env"))
	for flag, want := range map[string]string{"": "from-env", write("from-flag"): "from-flag"} {
		if config, err := ClientConfig(flag, "test"); err != nil || config.Host != "https://"+want+":6443" {
			t.Errorf("--kubeconfig %q: %+v %v", flag, config, err)
		}
	}
}

// TestClientConfigMissingFile checks that the error names the variable and the file.
func TestClientConfigMissingFile(t *testing.T) {
	t.Setenv("KUBECONFIG", "/does/not/exist")
	if _, err := ClientConfig("", "test"); err == nil || !strings.Contains(err.Error(), "KUBECONFIG /does/not/exist: ") {
		t.Error(err)
	}
}
