package e2e

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// TestPodRunAndExit checks that annotations determine when the containers of simulated pods exit, and with
// which code.
func TestPodRunAndExit(t *testing.T) {
	t.Parallel()
	h := newTestHome(t)
	c := h.up("--nodes", "2")
	pods := ""
	for _, p := range [][3]string{{"good", "0.2", "0"}, {"bad", "0.2", "3"}} {
		pods += fmt.Sprintf("---\napiVersion: v1\nkind: Pod\nmetadata: {name: %s, annotations: {sim.berth.dev/run-seconds: %q, sim.berth.dev/exit-code: %q}}\n"+
			"spec: {restartPolicy: Never, containers: [{name: main, image: \"x:1\", resources: {requests: {cpu: 8}}}]}\n", p[0], p[1], p[2])
	}
	pods += "---\napiVersion: v1\nkind: Pod\nmetadata: {name: restarting, annotations: {sim.berth.dev/run-seconds: \"0.2\"}}\nspec: {containers: [{name: main, image: \"x:1\"}]}\n"
	c.mustKubectl("apply", "-f", h.write("pods.yaml", pods))
	c.mustKubectl("wait", "--for=jsonpath={.status.phase}=Succeeded", "pod/good", "--timeout=180s")
	c.mustKubectl("wait", "--for=jsonpath={.status.phase}=Failed", "pod/bad", "--timeout=180s")
	c.mustKubectl("wait", "--for=jsonpath={.status.containerStatuses[0].restartCount}=1", "pod/restarting", "--timeout=180s")
	var bad corev1.Pod
	c.json(&bad, "get", "pod", "bad")
	end := bad.Status.ContainerStatuses[0].State.Terminated
	if end == nil || end.ExitCode != 3 || end.Reason != "Error" || end.FinishedAt.Before(&end.StartedAt) {
		t.Errorf("pod bad: got state %+v, want exit code 3 and reason Error", end)
	}
	if table := c.mustKubectl("get", "pods"); !strings.Contains(table, "Completed") || !strings.Contains(table, "Error") {
		t.Errorf("got pods %s, want Completed and Error", table)
	}
	// A completed pod uses no resources, so both nodes have their whole capacity.
	for i := range 2 {
		c.mustKubectl("run", fmt.Sprint("next-", i), "--image", "x:1", "--overrides", `{"spec":{"containers":[{"name":"x","image":"x:1","resources":{"requests":{"cpu":"8"}}}]}}`)
	}
	c.mustKubectl("wait", "--for=condition=Ready", "pod/next-0", "pod/next-1", "--timeout=180s")
	checkNodeCapacity(t, c.pods(), c.nodes())
}

// TestGracefulDeletion checks when a deleted pod disappears: a running one as soon as its containers have stopped, a
// pending one at once. A pod with a finalizer is deleted when the finalizer is removed.
func TestGracefulDeletion(t *testing.T) {
	t.Parallel()
	h := newTestHome(t)
	c := h.up("--nodes", "1")
	c.mustKubectl("run", "running", "--image", "x:1")
	c.mustKubectl("run", "finalized", "--image", "x:1", "--overrides", `{"metadata":{"finalizers":["example.com/hold"]}}`)
	c.mustKubectl("run", "pending", "--image", "x:1", "--overrides", `{"spec":{"nodeSelector":{"missing":"label"}}}`)
	c.mustKubectl("wait", "--for=condition=Ready", "pod/running", "pod/finalized", "--timeout=180s")
	c.mustKubectl("wait", "--for=condition=PodScheduled=false", "pod/pending", "--timeout=180s")

	// The containers of a simulated pod stop at once, not at the end of the grace period.
	c.mustKubectl("delete", "pod", "running", "pending", "--grace-period=600", "--timeout=180s")
	c.mustKubectl("delete", "pod", "finalized", "--wait=false")
	var finalized corev1.Pod
	eventually(t, eventTimeout, func() error {
		c.json(&finalized, "get", "pod", "finalized")
		if finalized.DeletionTimestamp == nil || finalized.Status.Phase == corev1.PodRunning {
			return fmt.Errorf("pod finalized: got deletion timestamp %v and phase %s, want a timestamp and a phase other than Running", finalized.DeletionTimestamp, finalized.Status.Phase)
		}
		return nil
	})
	c.mustKubectl("patch", "pod", "finalized", "--type=merge", "-p", `{"metadata":{"finalizers":null}}`)
	c.mustKubectl("wait", "--for=delete", "pod/finalized", "--timeout=180s")
	if remaining := c.pods(); len(remaining) > 0 {
		t.Errorf("got %d pods, want none; the first is %s", len(remaining), remaining[0].Name)
	}
}

// TestNamespaceDeletion checks that a namespace is deleted with its contents.
func TestNamespaceDeletion(t *testing.T) {
	t.Parallel()
	h := newTestHome(t)
	c := h.up("--nodes", "1")
	c.mustKubectl("create", "namespace", "team")
	c.mustKubectl("create", "configmap", "settings", "-n", "team", "--from-literal=a=b")
	c.mustKubectl("run", "one", "-n", "team", "--image", "x:1")
	c.mustKubectl("wait", "-n", "team", "--for=condition=Ready", "pod/one", "--timeout=180s")
	c.mustKubectl("wait", "-n", "team", "--for=create", "serviceaccount/default", "--timeout=180s")
	c.mustKubectl("delete", "namespace", "team", "--timeout=90s")
	if r := c.kubectl("get", "configmap", "settings", "-n", "team"); r.code == 0 {
		t.Errorf("get of a ConfigMap in a deleted namespace: got %s, want an error", r)
	}
	if r := c.kubectl("create", "configmap", "late", "-n", "team"); r.code == 0 || !strings.Contains(r.stderr, `namespaces "team" not found`) {
		t.Errorf("create in a deleted namespace: got %s, want not found", r)
	}
}
