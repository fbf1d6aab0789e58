package e2e

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
)

// slowPod returns a pod of the Service web. Its preStop hook takes preStop seconds. Its container then stops after stop
// seconds. The grace period is grace seconds.
func slowPod(name, node string, preStop, stop, grace int) string {
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

// endpointConditions returns the conditions of a pod in the EndpointSlices of web, or "none".
func (c *cluster) endpointConditions(pod string) string {
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

// waitForEndpoint waits until endpointConditions returns want for a pod.
func (c *cluster) waitForEndpoint(pod, want string) {
	c.t.Helper()
	eventually(c.t, eventTimeout, func() error {
		if got := c.endpointConditions(pod); got != want {
			return fmt.Errorf("endpoint of pod %s: got %s, want %s", pod, got, want)
		}
		return nil
	})
}

// TestTermination checks that the endpoint of a deleted pod is terminating, and that the pod ends
// after its hook and within its grace period. A pod on a disconnected node must exist until the
// node returns.
func TestTermination(t *testing.T) {
	t.Parallel()
	h := newTestHome(t)
	c := h.up("--nodes", "1")
	credential := c.credential("remote", "--node", "remote")
	agent := func() *process { return h.start("agent", "--simulated", "--kubeconfig", credential) }
	remoteAgent := agent()
	c.mustKubectl("wait", "--for=create", "node/remote", "--timeout=180s")
	c.mustKubectl("apply", "-f", h.write("web.yaml", webService+slowPod("with-hook", "n1", 2, 3, 30)+slowPod("ignores-sigterm", "n1", 0, 6000, 3)+slowPod("forced", "n1", 0, 6000, 600)+slowPod("disconnected", "remote", 0, 0, 1)))
	c.mustKubectl("wait", "--for=condition=Ready", "pod", "--all", "--timeout=180s")
	serving := "ready=true serving=true terminating=false"
	for _, pod := range []string{"with-hook", "ignores-sigterm", "forced", "disconnected"} {
		c.waitForEndpoint(pod, serving)
	}
	t.Run("a hook and a program that take 5 s together", func(t *testing.T) { c.checkTermination(t, "with-hook", 5*time.Second) })
	t.Run("a program that ignores SIGTERM is killed", func(t *testing.T) { c.checkTermination(t, "ignores-sigterm", 3*time.Second) })
	t.Run("force deletion does not wait", func(t *testing.T) {
		c.mustKubectl("delete", "pod", "forced", "--force", "--grace-period=0", "--timeout=180s")
		c.waitForEndpoint("forced", "none")
	})
	t.Run("a disconnected node", func(t *testing.T) {
		remoteAgent.kill()
		c.mustKubectl("delete", "pod", "disconnected", "--wait=false")
		c.waitForEndpoint("disconnected", "ready=false serving=true terminating=true")
		time.Sleep(3 * time.Second) // longer than its grace period
		var disconnected corev1.Pod
		c.json(&disconnected, "get", "pod", "disconnected")
		if disconnected.DeletionTimestamp == nil || disconnected.Status.Phase != corev1.PodRunning {
			t.Errorf("the pod on the disconnected node is %s, deleted at %v; want Running and a deletion time", disconnected.Status.Phase, disconnected.DeletionTimestamp)
		}
		agent()
		c.mustKubectl("wait", "--for=delete", "pod/disconnected", "--timeout=180s")
		c.waitForEndpoint("disconnected", "none")
	})
}

// checkTermination deletes a pod and checks that its endpoint is terminating until the pod has ended, and
// that this takes at least minDuration.
func (c *cluster) checkTermination(t *testing.T, pod string, minDuration time.Duration) {
	started := time.Now()
	c.mustKubectl("delete", "pod", pod, "--wait=false")
	c.waitForEndpoint(pod, "ready=false serving=true terminating=true")
	var endpoints corev1.Endpoints
	c.json(&endpoints, "get", "endpoints", "web")
	for _, s := range endpoints.Subsets {
		for _, a := range append(s.Addresses, s.NotReadyAddresses...) {
			if a.TargetRef.Name == pod {
				t.Errorf("terminating pod %s is in the Endpoints, want it removed", pod)
			}
		}
	}
	c.mustKubectl("wait", "--for=delete", "pod/"+pod, "--timeout=180s")
	if duration := time.Since(started); duration < minDuration {
		t.Errorf("the pod terminated after %v, want at least %v", duration, minDuration)
	}
	c.waitForEndpoint(pod, "none")
}
