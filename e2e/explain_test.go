package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/berthproject/berth/internal/testkit"
)

// TestExplainSuggestions checks that the suggested changes of explain make a pending pod
// schedulable.
func TestExplainSuggestions(t *testing.T) {
	t.Parallel()
	c := newTestHome(t).up("--nodes", "3")
	c.mustKubectl("run", "ssd", "--image", "app:1", "--overrides", `{"spec":{"nodeSelector":{"disk":"ssd"}}}`)
	eventually(t, eventTimeout, func() error {
		if r := c.testHome.run("queue", "--kubeconfig", c.kubeconfig); !strings.Contains(r.stdout, "unschedulable") {
			return fmt.Errorf("got queue %s, want an unschedulable pod", r)
		}
		return nil
	})
	expectContains(t, c.testHome.run("queue", "--kubeconfig", c.kubeconfig).stdout, "1 waiting: 1 unschedulable", "default/ssd", "0/3 nodes are available: 3 node(s) didn't match Pod's node affinity/selector")
	text := c.explain("ssd")
	expectContains(t, text, "NodeAffinity rejects 3 nodes", "a node's labels change (NodeAffinity)", "add label disk=ssd to ", "remove disk=ssd from the pod's nodeSelector")
	expectContains(t, c.explain("ssd", "--nodes"), "NodeAffinity rejects 3 nodes")
	var got struct {
		Suggestions []struct {
			Changes []struct{ Kind, Node, Key, Value string }
		}
	}
	if err := json.Unmarshal([]byte(c.explain("ssd", "-o", "json")), &got); err != nil || len(got.Suggestions) == 0 {
		t.Fatalf("got %+v, %v, want suggestions", got, err)
	}
	change := got.Suggestions[0].Changes[0]
	if change.Kind != "SetLabel" {
		t.Fatalf("got first suggestion %+v, want SetLabel", change)
	}
	node := func(extraArgs ...string) string {
		r := c.testHome.run(append([]string{"explain", "node", change.Node, "--kubeconfig", c.kubeconfig}, extraArgs...)...)
		if r.code != 0 {
			t.Fatalf("berth explain node: got %s, want exit code 0", r)
		}
		return r.stdout
	}
	expectContains(t, node(), "node "+change.Node, "RESOURCE", "cpu", "none of 1 pending pods fit", "default/ssd: NodeAffinity")
	c.mustKubectl("label", "node", change.Node, change.Key+"="+change.Value)
	eventually(t, eventTimeout, func() error {
		var p corev1.Pod
		if c.json(&p, "get", "pod", "ssd"); p.Spec.NodeName != change.Node {
			return fmt.Errorf("pod ssd is on %q, want %s", p.Spec.NodeName, change.Node)
		}
		return nil
	})
	expectContains(t, node("-o", "json"), `"pod": "default/ssd"`, `"allocatable"`)
	expectContains(t, c.testHome.run("queue", "--kubeconfig", c.kubeconfig).stdout, "0 waiting")
	if r := c.testHome.run("explain", "node", "missing", "--kubeconfig", c.kubeconfig); r.code != 1 || !strings.Contains(r.stderr, "node missing: not found among 3 nodes") {
		t.Errorf("explain of a missing node: got %s, want exit code 1", r)
	}
}

// TestSchedulerQueueEndpoint checks that berth queue reads the queue of a scheduler with an authorized token, and fails
// without one.
func TestSchedulerQueueEndpoint(t *testing.T) {
	t.Parallel()
	h := newTestHome(t)
	c := h.server("--disable-admission-plugins", "ServiceAccount")
	address := testkit.FreeAddress(t)
	h.start("scheduler", "--kubeconfig", c.credential("scheduler", "--for", "scheduler"), "--leader-elect=false", "--metrics-bind-address", address)
	c.mustKubectl("run", "pending", "--image", "app:1")
	c.mustKubectl("create", "serviceaccount", "reader")
	c.mustKubectl("create", "clusterrole", "queue-reader", "--verb=get", "--non-resource-url=/debug/queue")
	c.mustKubectl("create", "clusterrolebinding", "queue-reader", "--clusterrole=queue-reader", "--serviceaccount=default:reader")
	token := h.write("token", c.mustKubectl("create", "token", "reader"))
	queue := func(extraArgs ...string) result {
		return h.run(append([]string{"queue", "--scheduler", "https://" + address, "--insecure-skip-tls-verify"}, extraArgs...)...)
	}
	eventually(t, eventTimeout, func() error {
		if r := queue("--token-file", token); r.code != 0 || !strings.Contains(r.stdout, "default/pending") || !strings.Contains(r.stdout, "1 unschedulable") {
			return fmt.Errorf("got queue %s, want default/pending as unschedulable", r)
		}
		return nil
	})
	var got struct {
		Pods []struct {
			Pod, Pool string
			Attempts  int
		}
	}
	if r := queue("--token-file", token, "-o", "json"); json.Unmarshal([]byte(r.stdout), &got) != nil || len(got.Pods) != 1 || got.Pods[0].Attempts == 0 {
		t.Errorf("got queue %s, want one pod with attempts", r)
	}
	if r := queue(); r.code != 1 || !strings.Contains(r.stderr, "401") {
		t.Errorf("without a token: got %s, want exit code 1 and 401", r)
	}
	if r := h.run("queue", "--scheduler", "https://"+address, "--token-file", token); r.code != 1 || !strings.Contains(r.stderr, "--insecure-skip-tls-verify") {
		t.Errorf("with an unknown certificate: got %s, want exit code 1 and --insecure-skip-tls-verify", r)
	}
}
