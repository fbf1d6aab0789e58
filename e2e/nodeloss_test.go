//go:build unix

package e2e

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/explain"
)

// lossGrace is gracePeriodSeconds of lossConfig. Agents renew every second; on a
// loaded machine they can be late by several seconds.
const lossGrace = 12 * time.Second

const lossConfig = `apiVersion: berth.dev/v1alpha1
kind: BerthConfiguration
nodes: {leaseRenewalSeconds: 1}
nodeLifecycle: {gracePeriodSeconds: 12, startupGraceSeconds: 12, monitorPeriodSeconds: 1, evictionRate: 1}
`

// tolerantPod returns a pod on a node that tolerates the loss of the node for the given seconds, or
// forever if negative.
func tolerantPod(name, node string, seconds int) string {
	tolerationSeconds := ""
	if seconds >= 0 {
		tolerationSeconds = fmt.Sprintf(", tolerationSeconds: %d", seconds)
	}
	return fmt.Sprintf(`---
apiVersion: v1
kind: Pod
metadata: {name: %s}
spec:
  nodeName: %s
  terminationGracePeriodSeconds: 1
  containers: [{name: main, image: "x:1"}]
  tolerations: [{key: node.kubernetes.io/unreachable, operator: Exists, effect: NoExecute%s}]
`, name, node, tolerationSeconds)
}

// TestNodeLoss checks that the nodes of agents stopped with SIGSTOP become Unknown and are tainted. Pods
// are evicted after their toleration periods, but no pod is evicted if all nodes are lost.
func TestNodeLoss(t *testing.T) {
	t.Parallel()
	h := newTestHome(t)
	config := h.write("loss.yaml", lossConfig)
	c := h.up("--nodes", "0", "--config", config)
	agents := map[string]*process{}
	for _, name := range []string{"a1", "a2", "a3"} {
		agents[name] = h.start("agent", "--simulated", "--kubeconfig", c.credential(name, "--node", name), "--config", config)
	}
	c.waitForNodes("a1", "a2", "a3")
	c.mustKubectl("wait", "--for=condition=Ready", "node", "--all", "--timeout=180s")
	c.mustKubectl("apply", "-f", h.write("pods.yaml", tolerantPod("at-once", "a1", 0)+tolerantPod("after-5s", "a1", 5)+tolerantPod("after-3000s", "a1", 3000)+tolerantPod("tolerant", "a1", -1)+tolerantPod("other-node", "a2", 0)))
	c.mustKubectl("wait", "--for=condition=Ready", "pod", "--all", "--timeout=180s")
	stop := func(names ...string) {
		for _, name := range names {
			if err := agents[name].cmd.Process.Signal(syscall.SIGSTOP); err != nil {
				t.Fatal(err)
			}
		}
	}
	resume := func(names ...string) {
		for _, name := range names {
			if err := agents[name].cmd.Process.Signal(syscall.SIGCONT); err != nil {
				t.Fatal(err)
			}
		}
	}
	stop("a1")
	c.waitForNode("a1", corev1.ConditionUnknown, "unreachable:NoExecute", "unreachable:NoSchedule")
	c.checkLossTiming(t, config)
	c.waitForTaintEvictions("after-5s", "at-once")
	c.waitForReadiness(map[string]bool{"after-3000s": false, "tolerant": false, "other-node": true})
	c.mustKubectl("taint", "node", "a1", "node.kubernetes.io/out-of-service=nodeshutdown:NoSchedule")
	c.mustKubectl("wait", "--for=delete", "pod/at-once", "pod/after-5s", "--timeout=90s")
	c.mustKubectl("taint", "node", "a1", "node.kubernetes.io/out-of-service-")

	resume("a1")
	c.waitForNode("a1", corev1.ConditionTrue)
	c.waitForReadiness(map[string]bool{"after-3000s": true, "tolerant": true, "other-node": true})
	stop("a1", "a2", "a3")
	for _, name := range []string{"a1", "a2", "a3"} {
		c.waitForNode(name, corev1.ConditionUnknown, "unreachable:NoSchedule")
	}
	c.waitForReadiness(map[string]bool{"after-3000s": false, "tolerant": false, "other-node": false})
	resume("a1", "a2", "a3")
	for _, name := range []string{"a1", "a2", "a3"} {
		c.waitForNode(name, corev1.ConditionTrue)
	}
	c.waitForReadiness(map[string]bool{"after-3000s": true, "tolerant": true, "other-node": true})
}

// waitForNode waits until the Ready condition of a node has the status and the node has exactly the taints.
func (c *cluster) waitForNode(name string, ready corev1.ConditionStatus, taints ...string) {
	c.t.Helper()
	client := c.client()
	eventually(c.t, eventTimeout, func() error {
		n, err := client.CoreV1().Nodes().Get(c.t.Context(), name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		var got []string
		for _, taint := range n.Spec.Taints {
			got = append(got, strings.TrimPrefix(taint.Key, "node.kubernetes.io/")+":"+string(taint.Effect))
		}
		slices.Sort(got)
		if condition := readyOf(n); condition == nil || condition.Status != ready || !slices.Equal(got, taints) {
			return fmt.Errorf("node %s: %+v, taints %v; want %s, %v", name, condition, got, ready, taints)
		}
		return nil
	})
}

func readyOf(n *corev1.Node) *corev1.NodeCondition {
	for i := range n.Status.Conditions {
		if n.Status.Conditions[i].Type == corev1.NodeReady {
			return &n.Status.Conditions[i]
		}
	}
	return nil
}

// checkLossTiming checks that a1 became NotReady no earlier than the grace period after its last renewal. `berth zones`
// must list it as the only unready node.
func (c *cluster) checkLossTiming(t *testing.T, config string) {
	t.Helper()
	lease, err := c.client().CoordinationV1().Leases(corev1.NamespaceNodeLease).Get(t.Context(), "a1", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var n corev1.Node
	c.json(&n, "get", "node", "a1")
	delay := readyOf(&n).LastTransitionTime.Sub(lease.Spec.RenewTime.Time)
	if delay < lossGrace-time.Second { // times of conditions have whole seconds
		t.Errorf("a1 is NotReady %s after the last renewal, want at least the grace period of %s", delay, lossGrace)
	}
	t.Logf("NotReady %.1f s after the last renewal; the grace period is %s", delay.Seconds(), lossGrace)
	r := c.testHome.run("zones", "--kubeconfig", c.kubeconfig, "--config", config, "-o", "json")
	var zones explain.Zones
	if err := json.Unmarshal([]byte(r.stdout), &zones); err != nil || len(zones.Zones) != 1 || len(zones.Zones[0].UnreadyNodes) != 1 || zones.Zones[0].UnreadyNodes[0].Tainted.IsZero() || zones.Zones[0].UnreadyNodes[0].Name != "a1" {
		t.Errorf("berth zones: got error %v and %s, want one zone with the tainted node a1", err, r)
	}
}

// waitForTaintEvictions waits until exactly the pods with these names are terminating, because of a taint.
func (c *cluster) waitForTaintEvictions(names ...string) {
	c.t.Helper()
	client := c.client()
	eventually(c.t, eventTimeout, func() error {
		list, err := client.CoreV1().Pods("").List(c.t.Context(), metav1.ListOptions{})
		if err != nil {
			return err
		}
		var got []string
		for _, p := range list.Items {
			if p.DeletionTimestamp != nil {
				got = append(got, p.Name)
			}
			for _, cond := range p.Status.Conditions {
				if cond.Type == corev1.DisruptionTarget && cond.Reason != "DeletionByTaintManager" {
					c.t.Fatalf("pod %s: got condition %+v, want reason DeletionByTaintManager", p.Name, cond)
				}
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, names) {
			return fmt.Errorf("got terminating pods %v, want %v", got, names)
		}
		return nil
	})
}

// waitForReadiness waits until each pod that is not terminating is in want and has the readiness given
// there.
func (c *cluster) waitForReadiness(want map[string]bool) {
	c.t.Helper()
	client := c.client()
	eventually(c.t, eventTimeout, func() error {
		list, err := client.CoreV1().Pods("").List(c.t.Context(), metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, p := range list.Items {
			if p.DeletionTimestamp != nil {
				continue
			}
			isReady := slices.ContainsFunc(p.Status.Conditions, func(x corev1.PodCondition) bool {
				return x.Type == corev1.PodReady && x.Status == corev1.ConditionTrue
			})
			if w, ok := want[p.Name]; !ok || w != isReady {
				return fmt.Errorf("pod %s is ready: %v, want %v", p.Name, isReady, want)
			}
		}
		return nil
	})
}
