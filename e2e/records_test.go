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

// evictions returns the displacements that berth evictions shows.
func (c *cluster) evictions(args ...string) []*journal.Displacement {
	c.t.Helper()
	r := c.testHome.run(append([]string{"evictions", "--kubeconfig", c.kubeconfig, "-o", "json"}, args...)...)
	var out struct{ Displacements []*journal.Displacement }
	if err := json.Unmarshal([]byte(r.stdout), &out); err != nil || r.code != 0 {
		c.t.Fatalf("berth evictions: %v: %s", err, r)
	}
	return out.Displacements
}

// TestRecords checks that for each displaced pod there is one record, which names the node
// of its replacement. It still exists after a kill and, in the journal, after the events
// have expired.
func TestRecords(t *testing.T) {
	t.Parallel()
	h := newTestHome(t)
	args := []string{"--nodes", "3", "--listen", testkit.FreeAddress(t)}
	c := h.up(args...)
	c.mustKubectl("apply", "-f", "../examples/web.yaml")
	c.waitForRollout("deployment/web")
	var before corev1.PodList
	c.json(&before, "get", "pods", "-l", "app=web")
	victim := before.Items[0]
	c.mustKubectl("drain", victim.Spec.NodeName, "--timeout=60s", "--ignore-daemonsets")
	var nodes corev1.NodeList
	c.json(&nodes, "get", "nodes")
	other := nodes.Items[0].Name
	if other == victim.Spec.NodeName {
		other = nodes.Items[1].Name
	}
	c.mustKubectl("taint", "node", other, "broken=yes:NoExecute")
	c.mustKubectl("apply", "-f", c.write("fat.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: fat}\nspec:\n  nodeSelector: {no: such}\n  containers: [{name: c, image: \"app:1\"}]\n"))
	c.mustKubectl("patch", "pod", "fat", "--subresource=status", "--type=merge", "-p", `{"status":{"phase":"Failed","reason":"Evicted","message":"The node was low on resource: memory."}}`)
	c.proc.kill()
	c = h.up(args...)
	c.recordsComplete(t, before.Items, victim.Spec.NodeName, other)
	if held := c.mustKubectl("get", "holds", "-A", "-o", "jsonpath={.items[*].spec.node}"); strings.Contains(held, victim.Spec.NodeName) {
		t.Errorf("pods avoid a drained node: %s", held)
	}
	c.mustKubectl("taint", "node", other, "broken-")
	eventually(t, happenWithin, func() error {
		if held := c.mustKubectl("get", "holds", "-A", "-o", "name"); held != "" {
			return fmt.Errorf("unexpected Holds: %s", held)
		}
		return nil
	})

	c.mustKubectl("delete", "events", "--all")
	if of := c.evictions("--owner", "deployment/web", "--since", "1h"); len(of) == 0 {
		t.Error("journal and events differ")
	}
	out := h.run("explain", "displacement", "default/"+victim.Name, "--kubeconfig", c.kubeconfig)
	has(t, out.stdout, "was displaced from node "+victim.Spec.NodeName, "its eviction was requested through the API", "kubernetes-admin", "web allowed", "ready after")
	if r := h.run("explain", "displacement", "default/missing", "--kubeconfig", c.kubeconfig); r.code != 1 || !strings.Contains(r.stderr, "no displacement found") {
		t.Errorf("of a pod that never existed: %s", r)
	}
}

// recordsComplete waits until each pod that one of the nodes lost has exactly one record,
// with a replacement that is ready elsewhere.
func (c *cluster) recordsComplete(t *testing.T, pods []corev1.Pod, drained, tainted string) {
	t.Helper()
	eventually(t, happenWithin+time.Minute, func() error {
		of, foreign := map[string]*journal.Displacement{}, false
		for _, d := range c.evictions() {
			if of[d.Pod.UID] != nil {
				return fmt.Errorf("pod %s has two records", d.Pod.Name)
			}
			of[d.Pod.UID] = d
			foreign = foreign || d.Pod.Name == "fat" && d.Cause == "Pressure" && d.Writer == "displacement-records"
		}
		if !foreign {
			return fmt.Errorf("no record of the eviction by a kubelet: %+v", of)
		}
		for i := range pods {
			p := &pods[i]
			if p.Spec.NodeName != drained && p.Spec.NodeName != tainted {
				continue
			}
			d := of[string(p.UID)]
			if d == nil || d.Gone == nil || d.Replacement == nil || d.Replacement.Ready == nil {
				return fmt.Errorf("pod %s of node %s: %+v", p.Name, p.Spec.NodeName, d)
			}
			if cause := map[string]string{drained: "API", tainted: "Taint"}[p.Spec.NodeName]; d.Cause != cause || d.Reconstructed || d.Node != p.Spec.NodeName {
				return fmt.Errorf("pod %s of node %s: %+v, want the cause %s", p.Name, p.Spec.NodeName, d, cause)
			}
		}
		return nil
	})
}
