package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/berthproject/berth/api/v1alpha1"
)

const duplicatesPolicy = `apiVersion: descheduler/v1alpha2
kind: DeschedulerPolicy
profiles:
- name: default
  pluginConfig:
  - name: DefaultEvictor
  - name: RemoveDuplicates
  plugins:
    balance: {enabled: [RemoveDuplicates]}
`

// createOnFirstNode creates pods while only n1 is schedulable.
func (c *cluster) createOnFirstNode(create func()) {
	c.t.Helper()
	c.mustKubectl("cordon", "n2", "n3")
	create()
	c.mustKubectl("uncordon", "n2", "n3")
}

// podsPerNode returns the number of pods of an app per node, as "n1:2 n2:1 n3:0 of 3", and their
// UIDs.
func (c *cluster) podsPerNode(app string) (perNode string, uids []string) {
	c.t.Helper()
	var list corev1.PodList
	c.json(&list, "get", "pods", "-l", "app="+app)
	counts := map[string]int{}
	for _, p := range list.Items {
		counts[p.Spec.NodeName]++
		uids = append(uids, string(p.UID))
	}
	slices.Sort(uids)
	return fmt.Sprintf("n1:%d n2:%d n3:%d of %d", counts["n1"], counts["n2"], counts["n3"], len(uids)), uids
}

// waitForPodsPerNode waits until the pods of an app are on the given nodes and returns their
// UIDs.
func (c *cluster) waitForPodsPerNode(app, want string) (uids []string) {
	c.t.Helper()
	eventually(c.t, eventTimeout, func() error {
		var got string
		if got, uids = c.podsPerNode(app); got != want {
			return fmt.Errorf("pods of %s are on %s, want %s", app, got, want)
		}
		return nil
	})
	return uids
}

// TestUpDescheduler checks that berth up --descheduler-policy moves pods, and none once they are spread. No other
// descheduler starts while it is active.
func TestUpDescheduler(t *testing.T) {
	t.Parallel()
	h := newTestHome(t)
	c := h.up("--nodes", "3", "--descheduler-policy", h.write("policy.yaml", duplicatesPolicy), "--descheduler-interval", "500ms")
	c.createOnFirstNode(func() {
		c.mustKubectl("create", "deployment", "web", "--image=pause", "--replicas=4")
		c.waitForPodsPerNode("web", "n1:4 n2:0 n3:0 of 4")
	})
	eventually(t, eventTimeout, func() error {
		got, _ := c.podsPerNode("web")
		if got != "n1:2 n2:1 n3:1 of 4" && got != "n1:1 n2:2 n3:1 of 4" && got != "n1:1 n2:1 n3:2 of 4" {
			return fmt.Errorf("pods are on %s, want at least one on each node", got)
		}
		return nil
	})
	rounds := func() int {
		text, err := os.ReadFile(h.path("data/berth.log"))
		if err != nil {
			t.Fatal(err)
		}
		return strings.Count(string(text), "Descheduler run finished")
	}
	_, before := c.podsPerNode("web")
	from := rounds()
	eventually(t, eventTimeout, func() error {
		if n := rounds(); n < from+3 {
			return fmt.Errorf("%d runs, want 3", n-from)
		}
		return nil
	})
	if got, after := c.podsPerNode("web"); !slices.Equal(before, after) {
		t.Errorf("got pods %s, want none moved after they were spread", got)
	}
	if r := h.run("descheduler", "--kubeconfig", c.kubeconfig); r.code != 2 || !strings.Contains(r.stderr, "Lease kube-system/descheduler, held by berth-up") {
		t.Errorf("with another active descheduler: got %s, want exit code 2 and the holder of the Lease", r)
	}
	if out := c.mustKubectl("get", "events"); !strings.Contains(out, "Descheduled") || !strings.Contains(out, "RemoveDuplicates: 4 copies of ReplicaSet default/web-") {
		t.Errorf("got events %s, want Descheduled with the number of copies", out)
	}
}

// TestDeschedulerCommand checks berth descheduler with the permissions of deploy/descheduler.yaml. A dry run prints the
// planned moves and does nothing. A run that is killed leaves a Hold, which the next run deletes. The pod moves to the
// planned node.
func TestDeschedulerCommand(t *testing.T) {
	t.Parallel()
	h := newTestHome(t)
	c := h.up("--nodes", "3")
	c.mustKubectl("apply", "-f", "../deploy/descheduler.yaml")
	c.mustKubectl("apply", "-f", "../deploy/descheduler-cronjob.yaml", "--dry-run=server")
	c.mustKubectl("apply", "-f", "../deploy/descheduler-job.yaml", "--dry-run=server")
	token := strings.TrimSpace(c.mustKubectl("create", "token", "-n", "kube-system", "berth-descheduler"))
	config, err := os.ReadFile(c.kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	kubeconfig := c.write("descheduler.kubeconfig", withToken(string(config), token))
	policy := c.write("policy.yaml", duplicatesPolicy)
	args := []string{"descheduler", "--kubeconfig", kubeconfig, "--policy-config-file", policy}

	deployed := c.write("deployed.yaml", c.mustKubectl("get", "configmap", "-n", "kube-system", "berth-descheduler", "-o", `jsonpath={.data.policy\.yaml}`))
	if r := h.run("descheduler", "--kubeconfig", kubeconfig, "--policy-config-file", deployed, "--dry-run"); r.code != 0 || !strings.Contains(r.stdout, "0 pods to move") {
		t.Errorf("the policy of deploy/descheduler.yaml: got %s, want 0 pods to move", r)
	}

	c.createOnFirstNode(func() {
		c.mustKubectl("apply", "-f", c.write("db.yaml", setWithFinalizers))
		c.waitForPodsPerNode("db", "n1:2 n2:0 n3:0 of 2")
	})
	_, before := c.podsPerNode("db")
	dryRun := h.run(append(slices.Clone(args), "--dry-run", "-o", "json")...)
	var report struct {
		HoldSupport struct{ Supported bool }
		Moves       []struct{ Pod, From, To, Strategy string }
	}
	if err := json.Unmarshal([]byte(dryRun.stdout), &report); err != nil || dryRun.code != 0 || !report.HoldSupport.Supported || len(report.Moves) != 1 ||
		report.Moves[0].From != "n1" || report.Moves[0].Strategy != "RemoveDuplicates" {
		t.Fatalf("dry run: got %v, %s, want one move from n1 with Holds", err, dryRun)
	}
	if nodes, after := c.podsPerNode("db"); !slices.Equal(before, after) {
		t.Fatalf("got pods %s after a dry run, want none moved", nodes)
	}
	target := report.Moves[0].To

	run := h.start(args...)
	run.waitForOutput("is evicted from n1")
	run.kill()
	if n := len(c.holds()); n != 1 {
		t.Fatalf("%d Holds after the descheduler was killed during a move, want 1", n)
	}
	// The killed run still holds its Lease. The next run waits until it expires.
	if holder := c.mustKubectl("get", "lease", "-n", "kube-system", "descheduler", "-o", "jsonpath={.spec.holderIdentity}"); !strings.HasPrefix(holder, "once_") {
		t.Errorf("the Lease of the killed run is held by %q, want prefix once_", holder)
	}
	pod := strings.TrimPrefix(report.Moves[0].Pod, "default/")
	c.mustKubectl("patch", "pod", pod, "--type=merge", "-p", `{"metadata":{"finalizers":null}}`)
	c.mustKubectl("wait", "--for=condition=Ready", "pod", "-l", "app=db", "--timeout=180s")
	if r := h.run(args...); r.code != 0 || len(c.holds()) != 0 {
		t.Errorf("after the next run: got %d Holds, %s; want none, exit code 0", len(c.holds()), r)
	}
	if got := c.mustKubectl("get", "pod", pod, "-o", "jsonpath={.spec.nodeName}"); got != target {
		t.Errorf("%s was bound to %q, want the planned node %s", pod, got, target)
	}
}

func (c *cluster) holds() []v1alpha1.Hold {
	c.t.Helper()
	var list v1alpha1.HoldList
	c.json(&list, "get", "holds", "-A")
	return list.Items
}

// setWithFinalizers is a StatefulSet whose pods exist until the test removes their finalizer. The
// replacement of a pod is created after that.
const setWithFinalizers = `apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  replicas: 2
  serviceName: db
  podManagementPolicy: Parallel
  selector: {matchLabels: {app: db}}
  template:
    metadata:
      labels: {app: db}
      finalizers: [e2e.berth.dev/stays]
    spec:
      containers: [{name: c, image: pause}]
`

// withToken returns a kubeconfig with a token in place of its certificate.
func withToken(config, token string) string {
	var out []string
	for line := range strings.Lines(config) {
		switch field := strings.TrimSpace(line); {
		case strings.HasPrefix(field, "client-certificate-data:"):
			out = append(out, strings.Replace(line, field, "token: "+token, 1))
		case strings.HasPrefix(field, "client-key-data:"):
		default:
			out = append(out, line)
		}
	}
	return strings.Join(out, "")
}
