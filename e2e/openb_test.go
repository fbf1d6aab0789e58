package e2e

import (
	"encoding/json"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/internal/testkit"
)

// summary is the output of `berth load -o json`.
type summary struct {
	Total, Placed, Pending, Unexplained int
	CreateSeconds, Seconds              float64
	Reasons                             []struct {
		Message string
		Pods    int
	}
	Utilization []struct {
		Resource, Requested, Allocatable string
		Percent                          int64
	}
}

// openb returns the path of a file of the OpenB data set.
func openb(t *testing.T, file string) string {
	t.Helper()
	dir := os.Getenv("BERTH_OPENB")
	if dir == "" {
		testkit.SkipOrFail(t, "the OpenB data set", "BERTH_OPENB names no directory with openb_node_list_all_node.csv and openb_pod_list_default.csv")
	}
	return filepath.Join(dir, file)
}

// openbSample writes every fourth row of a file of the OpenB data set, or all rows in a soak run. It returns the
// path and the number of rows.
func openbSample(t *testing.T, h testHome, file string) (path string, rows int) {
	t.Helper()
	data, err := os.ReadFile(openb(t, file))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(strings.TrimSpace(string(data))+"\n", "\n")
	step := 4
	if os.Getenv("BERTH_SOAK") != "" {
		step = 1
	}
	sample := lines[:1:1] // the header
	for i := 1; i < len(lines)-1; i += step {
		sample = append(sample, lines[i])
	}
	return h.write(file, strings.Join(sample, "")), len(sample) - 1
}

// TestOpenB checks the summary of `berth load` with a recount after a cluster of OpenB's nodes is filled with
// its pods: 381 and 2,038 of them, or all 1,523 and 8,152 in a soak run. It must run alone: without enough CPU,
// agents renew Leases late and pods are scheduled after the summary is computed.
func TestOpenB(t *testing.T) {
	h := newTestHome(t)
	nodesFile, wantNodes := openbSample(t, h, "openb_node_list_all_node.csv")
	podsFile, wantPods := openbSample(t, h, "openb_pod_list_default.csv")
	started := time.Now()
	c := h.up("--openb-nodes", nodesFile, "--ephemeral")
	ready := time.Since(started)
	r := h.run("load", "--kubeconfig", c.kubeconfig, "--openb-pods", podsFile, "-o", "json")
	var s summary
	if err := json.Unmarshal([]byte(r.stdout), &s); r.code != 0 || err != nil {
		t.Fatalf("berth load: got error %v and %s, want exit code 0 and JSON", err, r)
	}
	t.Logf("%d nodes ready after %.1f s; %d pods created in %.1f s, scheduled or explained after %.1f s: %d placed, %d pending",
		wantNodes, ready.Seconds(), s.Total, s.CreateSeconds, s.Seconds, s.Placed, s.Pending)
	c.waitForRunningPods(s.Placed)
	t.Logf("all placed pods run %.1f s after the start", time.Since(started).Seconds())
	pods, nodes := c.pods(), c.nodes()
	if len(nodes) != wantNodes || len(pods) != wantPods || s.Total != wantPods || s.Unexplained != 0 {
		t.Fatalf("got %d nodes, %d pods and a summary of %d pods, %d unexplained; want %d, %d, %d and 0",
			len(nodes), len(pods), s.Total, s.Unexplained, wantNodes, wantPods, wantPods)
	}
	usages := checkNodeCapacity(t, pods, nodes)
	t.Run("the summary matches the API", func(t *testing.T) { checkSummary(t, s, pods, usages) })
	t.Run("the reason of each pending pod is correct", func(t *testing.T) {
		checked := map[string]bool{}
		for i := range pods {
			if p := &pods[i]; p.Spec.NodeName == "" && !t.Failed() {
				checkReason(t, p, usages, checked)
			}
		}
	})
}

// waitForRunningPods waits until want pods are Running. It uses less CPU than waitForRunning with kubectl.
func (c *cluster) waitForRunningPods(want int) {
	c.t.Helper()
	client := c.protobuf()
	eventually(c.t, 2*eventTimeout, func() error {
		list, err := client.CoreV1().Pods("default").List(c.t.Context(), metav1.ListOptions{ResourceVersion: "0"})
		if err != nil {
			return err
		}
		running := 0
		for i := range list.Items {
			if list.Items[i].Status.Phase == corev1.PodRunning {
				running++
			}
		}
		if running != want {
			return fmt.Errorf("%d pods are Running, want %d", running, want)
		}
		return nil
	})
}

// TestLoadTextOutput checks the text output of `berth load` with lists in the format of OpenB.
func TestLoadTextOutput(t *testing.T) {
	t.Parallel()
	h := newTestHome(t)
	nodes := h.write("nodes.csv", "sn,cpu_milli,memory_mib,gpu,model\nplain,4000,8192,0,\nfast,8000,16384,2,T4\n")
	pods := h.write("pods.csv", "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos\na,1000,1024,0,0,,LS\nb,1000,1024,1,500,T4|P100,BE\nc,1000,1024,3,1000,T4,LS\nd,1000,1024,1,1000,V100,LS\n")
	c := h.up("--openb-nodes", nodes)
	r := h.run("load", "--kubeconfig", c.kubeconfig, "--openb-pods", pods, "--rate", "20")
	if r.code != 0 {
		t.Fatalf("berth load: got %s, want exit code 0", r)
	}
	expectContains(t, r.stdout, "4 pods of "+pods, "assumptions:", "devices are whole", "2 scheduled, 2 pending", "1 0/2 nodes are available: 1 Insufficient nvidia.com/gpu, 1 node(s) didn't match Pod's node affinity/selector.",
		"1 0/2 nodes are available: 2 node(s) didn't match Pod's node affinity/selector.", "RESOURCE", "nvidia.com/gpu  1", "50%")
	expectContains(t, c.mustKubectl("get", "pod", "b", "-o", "wide"), "fast")
	expectContains(t, c.explain("default/d"), "fits 0 of 2 nodes", "NodeAffinity rejects 2 nodes")
}

// checkSummary checks the summary with the pods of the API and the recounted usage of the nodes.
func checkSummary(t *testing.T, s summary, pods []corev1.Pod, usages map[string]*nodeUsage) {
	placed, messages := 0, map[string]int{}
	for i := range pods {
		if pods[i].Spec.NodeName != "" {
			placed++
		} else {
			messages[unschedulableReason(&pods[i])]++
		}
	}
	if s.Placed != placed || s.Pending != len(pods)-placed {
		t.Errorf("summary: got %d placed and %d pending pods, recounted %d and %d", s.Placed, s.Pending, placed, len(pods)-placed)
	}
	for _, r := range s.Reasons {
		if messages[r.Message] != r.Pods {
			t.Errorf("summary: got %d pods for %q, recounted %d", r.Pods, r.Message, messages[r.Message])
		}
		delete(messages, r.Message)
	}
	if len(messages) > 0 {
		t.Errorf("the summary lacks the reasons %v", messages)
	}
	capacity, used := amounts{}, amounts{}
	for _, u := range usages {
		for name, q := range u.capacity {
			capacity.add(name, q)
		}
		for name, q := range u.used {
			used.add(name, q)
		}
	}
	reported := []string{}
	for _, u := range s.Utilization {
		reported = append(reported, u.Resource)
		if parseQuantity(t, u.Requested).Cmp(used.of(u.Resource)) != 0 || parseQuantity(t, u.Allocatable).Cmp(capacity.of(u.Resource)) != 0 {
			t.Errorf("summary of %s: got %s of %s, recounted %s of %s", u.Resource, u.Requested, u.Allocatable, used.of(u.Resource).FloatString(3), capacity.of(u.Resource).FloatString(3))
		}
		share, _ := new(big.Rat).Quo(used.of(u.Resource), capacity.of(u.Resource)).Float64()
		if int64(100*share) != u.Percent {
			t.Errorf("summary of %s: got %d %%, recounted %.2f %%", u.Resource, u.Percent, 100*share)
		}
	}
	for _, name := range []string{"cpu", "memory", "nvidia.com/gpu", "pods"} {
		if !slices.Contains(reported, name) {
			t.Errorf("the summary lacks the utilization of %s", name)
		}
	}
}

// unschedulableReason returns why a pod is not scheduled, according to its condition.
func unschedulableReason(p *corev1.Pod) string {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable {
			return c.Message
		}
	}
	return ""
}

var unschedulableMessage = regexp.MustCompile(`^0/(\d+) nodes are available: (.*?)\.( |$)`)

// checkReason checks that no node has resources for a pod. The number of nodes without the resource must be at least
// the number in the pod's message. Nodes only fill up in this test, so the number may have grown. The number for an
// affinity is constant. checked contains the combinations of affinity, requests and message that were already checked.
func checkReason(t *testing.T, p *corev1.Pod, usages map[string]*nodeUsage, checked map[string]bool) {
	t.Helper()
	message, want := unschedulableReason(p), demand(t, p)
	key := fmt.Sprint(p.Spec.Affinity, p.Spec.Containers[0].Resources.Requests, message)
	if checked[key] {
		return
	}
	checked[key] = true
	const affinity = "node(s) didn't match Pod's node affinity/selector"
	actual := map[string]int{}
	for name, u := range usages {
		if !admits(t, p, u.node) {
			actual[affinity]++
			continue
		}
		missing := u.insufficient(want)
		if len(missing) == 0 {
			t.Errorf("pod %s is pending, but fits node %s: %q", p.Name, name, message)
			return
		}
		for _, res := range missing {
			if res == "pods" {
				actual["Too many pods"]++
			} else {
				actual["Insufficient "+res]++
			}
		}
	}
	m := unschedulableMessage.FindStringSubmatch(message)
	if m == nil || m[1] != strconv.Itoa(len(usages)) {
		t.Errorf("pod %s: got message %q, want one about %d nodes", p.Name, message, len(usages))
		return
	}
	covered := 0 // nodes, once for each reason
	for _, part := range strings.Split(m[2], ", ") {
		count, reason, _ := strings.Cut(part, " ")
		n, err := strconv.Atoi(count)
		covered += n
		if err != nil || n <= 0 || n > actual[reason] || (reason == affinity && n != actual[reason]) {
			t.Errorf("pod %s: got reason %q, recounted %d nodes; message %q", p.Name, part, actual[reason], message)
		}
	}
	if covered < len(usages) {
		t.Errorf("pod %s: the reasons of message %q cover %d nodes, want %d", p.Name, message, covered, len(usages))
	}
}

// admits reports whether the required node affinity of a pod allows a node. It supports the
// operator In, the only operator in OpenB.
func admits(t *testing.T, p *corev1.Pod, n *corev1.Node) bool {
	t.Helper()
	if p.Spec.Affinity == nil || p.Spec.Affinity.NodeAffinity == nil || p.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return true
	}
	return slices.ContainsFunc(p.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms, func(term corev1.NodeSelectorTerm) bool {
		for _, e := range term.MatchExpressions {
			if e.Operator != corev1.NodeSelectorOpIn {
				t.Fatalf("pod %s: got operator %s, want In", p.Name, e.Operator)
			}
			if !slices.Contains(e.Values, n.Labels[e.Key]) {
				return false
			}
		}
		return len(term.MatchExpressions) > 0
	})
}
