package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// examplePods is the number of pods in examples/pods.yaml.
const examplePods = 30

// TestQuickStart checks the commands of the README's quick start.
func TestQuickStart(t *testing.T) {
	t.Parallel()
	h := newTestHome(t)
	c := h.up()
	t.Run("thirty pods run on three nodes", func(t *testing.T) {
		c.mustKubectl("apply", "-f", "../examples/pods.yaml")
		c.waitForRunning(examplePods)
		table := c.mustKubectl("get", "pods", "-o", "wide")
		lines := strings.Split(strings.TrimSpace(table), "\n")
		if len(lines) != examplePods+1 || !strings.HasPrefix(lines[0], "NAME") || !strings.Contains(lines[0], "NODE") {
			t.Fatalf("get pods -o wide: got %s, want %d pods with their nodes", table, examplePods)
		}
		perNode := map[string]int{}
		for _, line := range lines[1:] {
			f := strings.Fields(line)
			if f[1] != "1/1" || f[2] != "Running" {
				t.Errorf("got pod %q, want 1/1 and Running", line)
			}
			perNode[f[6]]++
		}
		if perNode["n1"] == 0 || perNode["n2"] == 0 || perNode["n3"] == 0 || len(perNode) != 3 {
			t.Errorf("got %v pods per node, want some on each of n1, n2 and n3", perNode)
		}
		checkNodeCapacity(t, c.pods(), c.nodes())
	})
	t.Run("explain", func(t *testing.T) { checkExplain(t, c) })
	t.Run("events", func(t *testing.T) {
		events := c.mustKubectl("get", "events", "--field-selector", "reason=Scheduled")
		if n := strings.Count(events, "Successfully assigned default/"); n != examplePods {
			t.Errorf("got %d Scheduled events, want %d: %s", n, examplePods, events)
		}
	})
	before := c.pods()
	if code := c.proc.stop(); code != 0 {
		t.Fatalf("exit code %d after Ctrl-C, want 0: %s", code, c.proc.out.String())
	}
	t.Run("resumes after a stop", func(t *testing.T) { checkResumes(t, h.up(), before, "after-stop") })
}

// checkExplain compares the text and the JSON of `berth explain pod` with the state of the cluster.
func checkExplain(t *testing.T, c *cluster) {
	c.mustKubectl("run", "huge", "--image", "huge:1", "--overrides", `{"spec":{"containers":[{"name":"huge","image":"huge:1","resources":{"requests":{"cpu":"9"}}}]}}`)
	defer c.mustKubectl("delete", "pod", "huge")
	expectContains(t, c.explain("default/huge"), "pod default/huge", "fits 0 of 3 nodes", "NodeResourcesFit rejects 3 nodes", "requests 9", "has 8 in all")
	var pod corev1.Pod
	c.json(&pod, "get", "pod", "web-1")
	if text := c.explain("web-1"); !strings.Contains(text, "bound to "+pod.Spec.NodeName) || !strings.Contains(text, "(here)") {
		t.Errorf("explain pod web-1: got %s, want text with its node %s", text, pod.Spec.NodeName)
	}
	var got explainOutput
	if err := json.Unmarshal([]byte(c.explain("default/web-1", "-o", "json")), &got); err != nil {
		t.Fatal(err)
	}
	if got.Pod != "default/web-1" || got.Node != pod.Spec.NodeName || got.Outcome != "scheduled" || len(got.Nodes) != 3 {
		t.Errorf("explain -o json: got %+v, want pod default/web-1 scheduled to %s and three nodes", got, pod.Spec.NodeName)
	}
	if !slices.Contains(got.Top, got.Choice) {
		t.Errorf("got choice %s, want one of the best nodes %v", got.Choice, got.Top)
	}
	for _, n := range got.Nodes {
		if n.Feasible == (n.Plugin != "") || n.Feasible != (n.Total != nil) || n.Feasible == (len(n.Reasons) > 0) {
			t.Errorf("node %s: got %+v, want either scores or a rejection", n.Name, n)
		}
		total := int64(0)
		for _, s := range n.Scores {
			total += s
		}
		if n.Total != nil && *n.Total != total {
			t.Errorf("node %s: got total %d, want the sum of its scores %d", n.Name, *n.Total, total)
		}
	}
	if r := c.testHome.run("explain", "pod", "missing", "--kubeconfig", c.kubeconfig); r.code != 1 || !strings.Contains(r.stderr, "pod default/missing: not found") {
		t.Errorf("explain of a missing pod: got %s, want exit code 1 and \"not found\"", r)
	}
}

// explainOutput is the output of `berth explain pod -o json`. It has the schema of
// `expect` in conformance/testdata/scheduling with additional fields.
type explainOutput struct {
	Pod, Node, Profile, Outcome, Choice string
	Top                                 []string
	Nodes                               []struct {
		Name         string
		Feasible     bool
		Plugin, Code string
		Reasons      []string
		Scores       map[string]int64
		Total        *int64
	}
}

// explain returns the output of `berth explain pod` with the arguments.
func (c *cluster) explain(args ...string) string {
	c.t.Helper()
	r := c.testHome.run(append([]string{"explain", "pod", "--kubeconfig", c.kubeconfig}, args...)...)
	if r.code != 0 {
		c.t.Fatalf("berth explain pod %s: got %s, want exit code 0", strings.Join(args, " "), r)
	}
	return r.stdout
}

// checkResumes checks that a cluster has the pods that it had before a restart, on the same nodes. It must schedule
// another pod with the given name.
func checkResumes(t *testing.T, c *cluster, before []corev1.Pod, name string) {
	t.Helper()
	current := map[string]corev1.Pod{}
	for _, p := range c.pods() {
		current[p.Name] = p
	}
	for _, p := range before {
		q, ok := current[p.Name]
		if !ok || q.UID != p.UID || q.Spec.NodeName != p.Spec.NodeName || q.Status.StartTime == nil || !q.Status.StartTime.Equal(p.Status.StartTime) {
			t.Errorf("pod %s: got UID %s on node %q since %v, want UID %s on node %s since %v", p.Name, q.UID, q.Spec.NodeName, q.Status.StartTime, p.UID, p.Spec.NodeName, p.Status.StartTime)
		}
	}
	c.mustKubectl("run", name, "--image", "more:1")
	c.waitForRunning(len(before) + 1)
	checkNodeCapacity(t, c.pods(), c.nodes())
}

// TestResumeAfterKill checks that `berth up` resumes a cluster with the same data directory after a kill.
func TestResumeAfterKill(t *testing.T) {
	t.Parallel()
	h := newTestHome(t)
	c := h.up("--nodes", "4", "--node-cpu", "3500m", "--node-memory", "4Gi")
	c.mustKubectl("apply", "-f", "../examples/pods.yaml")
	c.waitForRunning(examplePods)
	before := c.pods()
	c.proc.kill()
	c = h.up("--nodes", "4", "--node-cpu", "3500m", "--node-memory", "4Gi")
	checkResumes(t, c, before, "after-kill")
	var node corev1.Node
	c.json(&node, "get", "node", "n4")
	if cpu, mem := node.Status.Allocatable.Cpu().String(), node.Status.Allocatable.Memory().String(); cpu != "3500m" || mem != "4Gi" {
		t.Errorf("n4 has %s CPU and %s memory, want 3500m and 4Gi", cpu, mem)
	}
}

// TestEphemeralCleanup checks that `berth up --ephemeral` leaves no files, and that commands without
// --kubeconfig use the default cluster.
func TestEphemeralCleanup(t *testing.T) {
	t.Parallel()
	h := newTestHome(t)
	c := h.up("--ephemeral", "--nodes", "1", "--seed", "7")
	out := c.proc.out.String()
	if !strings.Contains(out, "data         not kept") || !strings.Contains(out, "seed 7") || !strings.Contains(out, c.kubeconfig) {
		t.Errorf("got output %s, want the seed, the kubeconfig and the note about the data", out)
	}
	c.mustKubectl("run", "one", "--image", "one:1")
	c.waitForRunning(1)
	if code := c.proc.stop(); code != 0 {
		t.Errorf("got exit code %d, want 0", code)
	}
	if remaining := files(t, h.dir); len(remaining) > 0 {
		t.Errorf("got files %v after the end, want none", remaining)
	}
	second := h.up("--ephemeral", "--nodes", "1")
	if pods := second.pods(); len(pods) != 0 {
		t.Errorf("got %d pods after a second start, want none", len(pods))
	}
	second.proc.waitForOutput("\n  export KUBECONFIG=" + second.kubeconfig + "\n")
	second.proc.waitForOutput("berth kubectl create deployment")
	// The default cluster is found without --kubeconfig.
	d := &cluster{h, h.start("up", "--listen", "127.0.0.1:0", "--nodes", "1"), h.path("state/berth/kubeconfig")}
	d.proc.waitForOutput("Berth is up")
	if r := h.run("kubectl", "get", "nodes"); r.code != 0 || !strings.Contains(r.stdout, "n1") {
		t.Errorf("kubectl without --kubeconfig: got %s, want node n1", r)
	}
	if r := h.run("explain", "pod", "missing"); r.code != 1 || !strings.Contains(r.stderr, "not found") {
		t.Errorf("explain of a missing pod without --kubeconfig: got %s, want exit code 1 and \"not found\"", r)
	}
}

// files returns the files below a directory except the caches of kubectl.
func files(t *testing.T, dir string) []string {
	t.Helper()
	var out []string
	var walk func(string)
	walk = func(d string) {
		entries, err := os.ReadDir(d)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			switch path := d + "/" + e.Name(); {
			case e.Name() == ".kube":
			case e.IsDir():
				walk(path)
			default:
				out = append(out, path)
			}
		}
	}
	walk(dir)
	return out
}

func (c *cluster) pods() []corev1.Pod {
	c.t.Helper()
	var list corev1.PodList
	c.json(&list, "get", "pods", "-A")
	return list.Items
}

func (c *cluster) nodes() []corev1.Node {
	c.t.Helper()
	var list corev1.NodeList
	c.json(&list, "get", "nodes")
	return list.Items
}

// waitForRunning waits until the given number of pods are Running.
func (c *cluster) waitForRunning(want int) {
	c.t.Helper()
	eventually(c.t, eventTimeout, func() error {
		n := 0
		pods := c.pods()
		for i := range pods {
			if pods[i].Status.Phase == corev1.PodRunning {
				n++
			}
		}
		if n != want {
			return fmt.Errorf("%d of %d pods are Running, want %d", n, len(pods), want)
		}
		return nil
	})
}
