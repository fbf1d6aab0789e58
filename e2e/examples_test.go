package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// TestExamples checks the examples with kubectl alone: rollout, scaling, rollback, a drain,
// and deletion.
func TestExamples(t *testing.T) {
	t.Parallel()
	h := newTestHome(t)
	c := h.up("--nodes", "3")
	for _, name := range []string{"web", "store", "job", "daemon"} {
		c.mustKubectl("apply", "-f", "../examples/"+name+".yaml")
	}
	step := func(name string, f func(t *testing.T, c *cluster)) bool {
		return t.Run(name, func(t *testing.T) { f(t, c) })
	}
	_ = step("rollout", testRollout) && step("scale", testScale) && step("rollback", testRollback) &&
		step("drain", testDrainExamples) && step("delete", testCascade)
}

// workloads are the examples that roll out, with their containers.
var workloads = []struct{ name, container, app string }{
	{"deployment/web", "server", "web"}, {"statefulset/store", "member", "store"}, {"daemonset/watcher", "watcher", "watcher"},
}

func (c *cluster) waitForRollout(names ...string) {
	c.t.Helper()
	for _, n := range names {
		c.mustKubectl("rollout", "status", n, "--timeout=120s")
	}
}

// waitForImages waits until the given number of pods of an app, not counting those being deleted,
// are ready and have one image.
func (c *cluster) waitForImages(app, image string, want int) {
	c.t.Helper()
	eventually(c.t, eventTimeout, func() error {
		var pods corev1.PodList
		c.json(&pods, "get", "pods", "-l", "app="+app)
		n := 0
		for i := range pods.Items {
			p := &pods.Items[i]
			if p.DeletionTimestamp != nil {
				return fmt.Errorf("pod %s is terminating", p.Name)
			}
			if p.Spec.Containers[0].Image != image || !slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
				return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
			}) {
				return fmt.Errorf("pod %s has image %s and is %s, want %s and ready", p.Name, p.Spec.Containers[0].Image, p.Status.Phase, image)
			}
			n++
		}
		if n != want {
			return fmt.Errorf("%d pods of %s, want %d", n, app, want)
		}
		return nil
	})
}

func testRollout(t *testing.T, c *cluster) {
	for _, w := range workloads {
		c.waitForRollout(w.name)
	}
	c.waitForImages("web", "web:1", 4)
	c.waitForImages("store", "store:1", 3)
	c.waitForImages("watcher", "watcher:1", 3)
	if claims := c.mustKubectl("get", "pvc", "-o", "name"); strings.Count(claims, "data-store-") != 3 {
		t.Errorf("got claims %s, want 3 of data-store", claims)
	}
	c.mustKubectl("wait", "--for=condition=Complete", "job/batch", "--timeout=120s")
	if got := c.mustKubectl("get", "job", "batch", "-o", "jsonpath={.status.succeeded} {.status.completedIndexes}"); got != "6 0-5" {
		t.Errorf("got job status %q, want 6 0-5", got)
	}
	eventually(t, eventTimeout, func() error {
		if ready := strings.Count(c.mustKubectl("get", "endpointslices", "-l", "kubernetes.io/service-name=web", "-o", "jsonpath={.items[*].endpoints[*].conditions.ready}"), "true"); ready != 4 {
			return fmt.Errorf("%d ready endpoints of web, want 4", ready)
		}
		return nil
	})
}

func testScale(t *testing.T, c *cluster) {
	c.mustKubectl("scale", "deployment/web", "--replicas=6")
	c.mustKubectl("scale", "statefulset/store", "--replicas=2")
	c.waitForImages("web", "web:1", 6)
	c.waitForImages("store", "store:1", 2)
	c.mustKubectl("wait", "--for=delete", "pvc/data-store-2", "--timeout=180s")
	c.mustKubectl("scale", "statefulset/store", "--replicas=3")
	c.waitForRollout("deployment/web", "statefulset/store")
	c.waitForImages("store", "store:1", 3)
}

func testRollback(t *testing.T, c *cluster) {
	counts := map[string]int{"web": 6, "store": 3, "watcher": 3}
	for _, w := range workloads {
		c.mustKubectl("set", "image", w.name, w.container+"="+w.app+":2")
	}
	for _, w := range workloads {
		c.waitForRollout(w.name)
		c.waitForImages(w.app, w.app+":2", counts[w.app])
	}
	if history := c.mustKubectl("rollout", "history", "deployment/web"); !strings.Contains(history, "\n1 ") || !strings.Contains(history, "\n2 ") {
		t.Errorf("got history %s, want revisions 1 and 2", history)
	}
	// A pod that cannot be scheduled stops the rollout, and all old pods remain available.
	c.mustKubectl("set", "resources", "deployment/web", "--requests=cpu=100")
	if r := c.kubectl("rollout", "status", "deployment/web", "--timeout=3s"); r.code == 0 {
		t.Errorf("rollout of an unschedulable pod: got %s, want a failure", r)
	}
	if ready := c.mustKubectl("get", "deployment", "web", "-o", "jsonpath={.status.availableReplicas}"); ready != "6" {
		t.Errorf("during the rollout of an unschedulable pod %s pods are available, want 6", ready)
	}
	c.mustKubectl("rollout", "undo", "deployment/web", "--to-revision=1")
	c.mustKubectl("rollout", "undo", "statefulset/store")
	c.mustKubectl("rollout", "undo", "daemonset/watcher")
	for _, w := range workloads {
		c.waitForRollout(w.name)
		c.waitForImages(w.app, w.app+":1", counts[w.app])
	}
}

func testDrainExamples(t *testing.T, c *cluster) {
	c.mustKubectl("drain", "n2", "--ignore-daemonsets", "--delete-emptydir-data", "--timeout=120s")
	c.waitForImages("web", "web:1", 6)
	for _, p := range c.pods() {
		if app := p.Labels["app"]; p.Spec.NodeName == "n2" && p.DeletionTimestamp == nil && app != "watcher" && app != "batch" {
			t.Errorf("pod %s is on the drained node n2, want another node", p.Name)
		}
	}
	c.mustKubectl("uncordon", "n2")
	c.waitForRollout("statefulset/store")
	c.waitForImages("store", "store:1", 3)
	c.waitForImages("watcher", "watcher:1", 3)
	checkNodeCapacity(t, c.pods(), c.nodes())
}

func testCascade(t *testing.T, c *cluster) {
	for _, name := range []string{"web", "store", "job", "daemon"} {
		c.mustKubectl("delete", "-f", "../examples/"+name+".yaml", "--timeout=180s")
	}
	eventually(t, eventTimeout, func() error {
		if remaining := c.mustKubectl("get", "pods,replicasets,controllerrevisions,endpointslices", "-o", "name"); strings.TrimSpace(strings.ReplaceAll(remaining, "endpointslice.discovery.k8s.io/kubernetes", "")) != "" {
			return fmt.Errorf("got %s, want no dependents", remaining)
		}
		return nil
	})
	if claims := c.mustKubectl("get", "pvc", "-o", "name"); strings.Count(claims, "data-store-") != 3 {
		t.Errorf("got claims %s, want 3 after the deletion of their StatefulSet", claims)
	}
}
