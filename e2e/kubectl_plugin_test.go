package e2e

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/berthproject/berth/internal/testkit"
)

// kubectlPlugin checks that `kubectl berth explain` gives the answer of `berth explain`: a program named kubectl-berth in
// PATH is the plugin.
func kubectlPlugin(t *testing.T, c *cluster) {
	bin := t.TempDir()
	if err := os.Symlink(testkit.Binary(t), bin+"/kubectl-berth"); err != nil {
		t.Fatal(err)
	}
	env := []string{"KUBECONFIG=" + c.kubeconfig, "PATH=" + bin + ":" + os.Getenv("PATH")}
	answer := func(args ...string) (node string) {
		t.Helper()
		r := c.testHome.runWith(env, append(args, "explain", "pod", "web", "-o", "json")...)
		var explanation struct {
			Pod  string `json:"pod"`
			Node string `json:"node"`
		}
		if err := json.Unmarshal([]byte(r.stdout), &explanation); err != nil || explanation.Pod != "default/web" {
			t.Fatalf("%q: got %s, %v, want the explanation of default/web", args, r, err)
		}
		return explanation.Node
	}
	want := answer()
	if got := answer("kubectl", "berth"); got != want || want == "" {
		t.Errorf("kubectl berth explain: got node %q, want %q", got, want)
	}
	list := c.testHome.runWith(env, "kubectl", "plugin", "list")
	expectContains(t, list.stdout, bin+"/kubectl-berth")
}
