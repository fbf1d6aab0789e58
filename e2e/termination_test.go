package e2e

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
)

// slow returns a pod of the Service web whose program takes time to stop.
func slow(name, node string, preStop, stop, grace int) string {
	return fmt.Sprintf(`---
apiVersion: v1
kind: Pod
metadata: {name: %s, labels: {app: web}, annotations: {sim.berth.dev/stop-seconds: "%d"}}
spec:
  nodeSelector: {kubernetes.io/hostname: %s}
  terminationGracePeriodSeconds: %d
  containers:
  - {name: main, image: "x:1", ports: [{name: http, containerPort: 8080}], lifecycle: {preStop: {sleep: {seconds: %d}}}}
`, name, stop, node, grace, preStop)
}

const webService = "---\napiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {selector: {app: web}, ports: [{name: http, port: 80, targetPort: http}]}\n"

// endpoint returns the conditions of a pod in the EndpointSlices of web: ready, serving,
// terminating.
func (c *cluster) endpoint(pod string) (conditions string) {
	c.t.Helper()
	var list discoveryv1.EndpointSliceList
	c.json(&list, "get", "endpointslices", "-l", "kubernetes.io/service-name=web")
	for _, s := range list.Items {
		for _, e := range s.Endpoints {
			if e.TargetRef != nil && e.TargetRef.Name == pod {
				return fmt.Sprintf("ready=%v serving=%v terminating=%v", *e.Conditions.Ready, *e.Conditions.Serving, *e.Conditions.Terminating)
			}
		}
	}
	return "none"
}

func (c *cluster) waitForEndpoint(pod, want string) {
	c.t.Helper()
	eventually(c.t, happenWithin, func() error {
		if got := c.endpoint(pod); got != want {
			return fmt.Errorf("the endpoint of %s: %s, want %s", pod, got, want)
		}
		return nil
	})
}

// TestTermination checks that a pod is no longer an endpoint when it is deleted, ends
// within its grace period but after its hook, and on a disconnected node waits for the
// node.
func TestTermination(t *testing.T) {
	t.Parallel()
	h := newTestHome(t)
	c := h.up("--nodes", "1")
	credential := c.credential("far", "--node", "far")
	agent := func() *process { return h.start("agent", "--simulated", "--kubeconfig", credential) }
	far := agent()
	c.mustKubectl("wait", "--for=create", "node/far", "--timeout=60s")
	c.mustKubectl("apply", "-f", h.write("web.yaml", webService+slow("polite", "n1", 2, 3, 30)+slow("deaf", "n1", 0, 6000, 3)+slow("forced", "n1", 0, 6000, 600)+slow("away", "far", 0, 0, 1)))
	c.mustKubectl("wait", "--for=condition=Ready", "pod", "--all", "--timeout=60s")
	serving := "ready=true serving=true terminating=false"
	for _, pod := range []string{"polite", "deaf", "forced", "away"} {
		c.waitForEndpoint(pod, serving)
	}
	t.Run("a hook and a program may use 5 s each", func(t *testing.T) { c.checkTermination(t, "polite", 5*time.Second) })
	t.Run("a program that ignores SIGTERM is killed", func(t *testing.T) { c.checkTermination(t, "deaf", 3*time.Second) })
	t.Run("force deletion does not wait", func(t *testing.T) {
		c.mustKubectl("delete", "pod", "forced", "--force", "--grace-period=0", "--timeout=60s")
		c.waitForEndpoint("forced", "none")
	})
	t.Run("a disconnected node", func(t *testing.T) {
		far.kill()
		c.mustKubectl("delete", "pod", "away", "--wait=false")
		c.waitForEndpoint("away", "ready=false serving=true terminating=true")
		time.Sleep(3 * time.Second) // longer than its grace period
		var away corev1.Pod
		c.json(&away, "get", "pod", "away")
		if away.DeletionTimestamp == nil || away.Status.Phase != corev1.PodRunning {
			t.Errorf("the pod on the disconnected node is %s, deleted at %v", away.Status.Phase, away.DeletionTimestamp)
		}
		agent()
		c.mustKubectl("wait", "--for=delete", "pod/away", "--timeout=60s")
		c.waitForEndpoint("away", "none")
	})
}

// checkTermination deletes a pod. It is a terminating endpoint until it ends.
func (c *cluster) checkTermination(t *testing.T, pod string, least time.Duration) {
	started := time.Now()
	c.mustKubectl("delete", "pod", pod, "--wait=false")
	c.waitForEndpoint(pod, "ready=false serving=true terminating=true")
	var legacy corev1.Endpoints
	c.json(&legacy, "get", "endpoints", "web")
	for _, s := range legacy.Subsets {
		for _, a := range append(s.Addresses, s.NotReadyAddresses...) {
			if a.TargetRef.Name == pod {
				t.Errorf("%s terminates and is in the Endpoints", pod)
			}
		}
	}
	c.mustKubectl("wait", "--for=delete", "pod/"+pod, "--timeout=60s")
	if duration := time.Since(started); duration < least {
		t.Errorf("the pod terminated after %v, its hook and its program take %v", duration, least)
	}
	c.waitForEndpoint(pod, "none")
}
