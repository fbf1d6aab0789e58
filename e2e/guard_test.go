package e2e

import (
	"os"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/berthproject/berth/internal/config"
	"github.com/berthproject/berth/internal/testkit"
)

// TestGuardDeployment checks that deploy/guard.yaml can be applied and that the guard can read its thresholds. A guard
// does not start on a machine without a kubelet.
func TestGuardDeployment(t *testing.T) {
	t.Parallel()
	h := newTestHome(t)
	c := h.up("--nodes", "1")
	c.mustKubectl("apply", "-f", "../deploy/guard.yaml")
	c.mustKubectl("rollout", "status", "daemonset/berth-guard", "-n", "kube-system", "--timeout=180s")
	var settings corev1.ConfigMap
	c.json(&settings, "get", "configmap", "berth-guard", "-n", "kube-system")
	file := h.write("kubelet.yaml", settings.Data["kubelet.yaml"])
	docs, err := config.Documents([]string{file})
	if err != nil || len(docs) != 1 {
		t.Fatalf("got %d documents in the guard's ConfigMap, %v, want 1", len(docs), err)
	}
	if k, err := config.ReadKubelet(docs[0]); err != nil || len(k.Pressure.Thresholds) == 0 {
		t.Errorf("got thresholds %+v, %v, want at least one", k.Pressure.Thresholds, err)
	}

	if os.Geteuid() != 0 {
		testkit.SkipOrFail(t, "root", "a guard kills processes of pods")
	}
	args := []string{"agent", "--guard", "--kubeconfig", c.kubeconfig, "--node-name", "n1", "--config", file}
	if r := h.run(args...); r.code != 2 || !strings.Contains(r.stderr, "--kubelet-eviction-off") {
		t.Errorf("with a kubelet that does not respond: got %s, want exit code 2", r)
	}
	// No kubelet has created cgroups here.
	if r := h.run(append(args, "--kubelet-eviction-off", "--cgroup", "/nowhere")...); r.code != 1 || !strings.Contains(r.stderr, "/nowhere/kubepods does not exist") {
		t.Errorf("with --kubelet-eviction-off: got %s, want exit code 1", r)
	}
}
