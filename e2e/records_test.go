package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/berthproject/berth/internal/journal"
	"github.com/berthproject/berth/internal/testkit"
)

// evictions returns the displacements that `berth evictions` shows with the arguments.
func (c *cluster) evictions(args ...string) []*journal.Displacement {
	c.t.Helper()
	r := c.testHome.run(append([]string{"evictions", "--kubeconfig", c.kubeconfig, "-o", "json"}, args...)...)
	var out struct{ Displacements []*journal.Displacement }
	if err := json.Unmarshal([]byte(r.stdout), &out); err != nil || r.code != 0 {
		c.t.Fatalf("berth evictions: got error %v and %s, want exit code 0 and JSON", err, r)
	}
	return out.Displacements
}

// TestDisplacementRecords checks that each displaced pod has one displacement record, which names its
// replacement. The record exists after a kill of `berth up` and, in the journal, after the events are
// deleted.
func TestDisplacementRecords(t *testing.T) {
	t.Parallel()
	h := newTestHome(t)
	args := []string{"--nodes", "3", "--listen", testkit.FreeAddress(t)}
	c := h.up(args...)
	c.mustKubectl("apply", "-f", "../examples/web.yaml")
	c.waitForRollout("deployment/web")
	var before corev1.PodList
	c.json(&before, "get", "pods", "-l", "app=web")
	victim := before.Items[0]
	c.mustKubectl("drain", victim.Spec.NodeName, "--timeout=180s", "--ignore-daemonsets")
	var nodes corev1.NodeList
	c.json(&nodes, "get", "nodes")
	taintedNode := nodes.Items[0].Name
	if taintedNode == victim.Spec.NodeName {
		taintedNode = nodes.Items[1].Name
	}
	c.mustKubectl("taint", "node", taintedNode, "broken=yes:NoExecute")
	c.mustKubectl("apply", "-f", c.write("evicted.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: evicted}\nspec:\n  nodeSelector: {no: such}\n  containers: [{name: c, image: \"app:1\"}]\n"))
	c.mustKubectl("patch", "pod", "evicted", "--subresource=status", "--type=merge", "-p", `{"status":{"phase":"Failed","reason":"Evicted","message":"The node was low on resource: memory."}}`)
	c.proc.kill()
	c = h.up(args...)
	c.waitForRecords(t, before.Items, victim.Spec.NodeName, taintedNode)
	if holds := c.mustKubectl("get", "holds", "-A", "-o", "jsonpath={.items[*].spec.node}"); strings.Contains(holds, victim.Spec.NodeName) {
		t.Errorf("got Holds on nodes %s, want none on the drained node", holds)
	}
	c.mustKubectl("taint", "node", taintedNode, "broken-")
	eventually(t, eventTimeout, func() error {
		if holds := c.mustKubectl("get", "holds", "-A", "-o", "name"); holds != "" {
			return fmt.Errorf("got Holds %s, want none", holds)
		}
		return nil
	})

	c.mustKubectl("delete", "events", "--all")
	if list := c.evictions("--owner", "deployment/web", "--since", "1h"); len(list) == 0 {
		t.Error("got no displacements after the events were deleted, want those of the journal")
	}
	out := h.run("explain", "displacement", "default/"+victim.Name, "--kubeconfig", c.kubeconfig)
	expectContains(t, out.stdout, "was displaced from node "+victim.Spec.NodeName, "its eviction was requested through the API", "kubernetes-admin", "web allowed", "ready after")
	if r := h.run("explain", "displacement", "default/missing", "--kubeconfig", c.kubeconfig); r.code != 1 || !strings.Contains(r.stderr, "no displacement found") {
		t.Errorf("explain displacement of a missing pod: got %s, want exit code 1 and \"no displacement found\"", r)
	}
}

// waitForRecords waits until each of the pods on the drained and the tainted node has exactly one record. The record
// must have the right cause and a replacement that is ready.
func (c *cluster) waitForRecords(t *testing.T, pods []corev1.Pod, drained, tainted string) {
	t.Helper()
	eventually(t, eventTimeout+time.Minute, func() error {
		byUID, hasKubeletRecord := map[string]*journal.Displacement{}, false
		for _, d := range c.evictions() {
			if byUID[d.Pod.UID] != nil {
				return fmt.Errorf("pod %s has two records, want one", d.Pod.Name)
			}
			byUID[d.Pod.UID] = d
			hasKubeletRecord = hasKubeletRecord || d.Pod.Name == "evicted" && d.Cause == "Pressure" && d.Writer == "displacement-records"
		}
		if !hasKubeletRecord {
			return fmt.Errorf("got records %+v, want one for the eviction by a kubelet", byUID)
		}
		for i := range pods {
			p := &pods[i]
			if p.Spec.NodeName != drained && p.Spec.NodeName != tainted {
				continue
			}
			d := byUID[string(p.UID)]
			if d == nil || d.Deleted == nil || d.Replacement == nil || d.Replacement.Ready == nil {
				return fmt.Errorf("pod %s of node %s: got record %+v, want one with a deletion and a ready replacement", p.Name, p.Spec.NodeName, d)
			}
			if cause := map[string]string{drained: "API", tainted: "Taint"}[p.Spec.NodeName]; d.Cause != cause || d.Reconstructed || d.Node != p.Spec.NodeName {
				return fmt.Errorf("pod %s of node %s: got record %+v, want cause %s", p.Name, p.Spec.NodeName, d, cause)
			}
		}
		return nil
	})
}
