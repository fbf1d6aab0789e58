package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/berthproject/berth/internal/testkit"
)

// TestReproducible checks that `berth explain pod` prints the same bytes for the same dump and seed, for any number of
// CPUs. Another seed changes only the choice between equal nodes.
func TestReproducible(t *testing.T) {
	t.Parallel()
	testkit.Binary(t)
	h := newTestHome(t)
	dump := h.write("dump.yaml", syntheticDump())
	explain := func(procs int, seed uint64, pod string, extraArgs ...string) string {
		t.Helper()
		config := h.write(fmt.Sprintf("seed-%d.yaml", seed), fmt.Sprintf("apiVersion: berth.dev/v1alpha1\nkind: BerthConfiguration\nscheduler: {seed: %d}\n", seed))
		args := append([]string{"explain", "pod", pod, "-f", dump, "--config", config}, extraArgs...)
		r := h.runWith([]string{fmt.Sprintf("GOMAXPROCS=%d", procs)}, args...)
		if r.code != 0 {
			t.Fatalf("berth explain pod %s: got %s, want exit code 0", pod, r)
		}
		return r.stdout
	}
	for _, pod := range []string{"team/any", "team/spread", "team/affinity", "team/bound", "team/impossible"} {
		single := explain(1, 5, pod, "-o", "json")
		for range 3 {
			if eight := explain(8, 5, pod, "-o", "json"); eight != single {
				t.Errorf("%s: results with one and eight processors differ:\n%s\n%s", pod, single, eight)
			}
		}
		if a, b := explain(1, 5, pod), explain(8, 5, pod); a != b {
			t.Errorf("%s: results with one and eight processors differ:\n%s\n%s", pod, a, b)
		}
	}
	choices := map[string]bool{}
	var first string
	for seed := range uint64(8) {
		text := explain(2, seed, "team/any", "-o", "json")
		var got explainOutput
		if err := json.Unmarshal([]byte(text), &got); err != nil {
			t.Fatal(err)
		}
		choices[got.Choice] = true
		remaining := strings.Replace(text, fmt.Sprintf("\"choice\": %q", got.Choice), "", 1)
		if first == "" {
			first = remaining
		}
		if remaining != first {
			t.Errorf("seed %d changes more than the choice among equal nodes:\n%s\n%s", seed, first, remaining)
		}
	}
	if len(choices) < 2 {
		t.Errorf("eight seeds chose %v, want at least two of the equal nodes", choices)
	}
}

// syntheticDump returns a dump of 60 nodes, 201 bound pods and 4 pending pods.
func syntheticDump() string {
	var b strings.Builder
	b.WriteString("apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Namespace, metadata: {name: team}}\n")
	for i := range 60 {
		taint := ""
		if i%10 == 9 {
			taint = "spec: {taints: [{key: dedicated, value: batch, effect: NoSchedule}]}, "
		}
		fmt.Fprintf(&b, "- {apiVersion: v1, kind: Node, metadata: {name: node-%02d, labels: {kubernetes.io/hostname: node-%02d, topology.kubernetes.io/zone: z%d, disk: %q}}, %s"+
			"status: {allocatable: {cpu: %d, memory: 32Gi, pods: 110}, capacity: {cpu: %d, memory: 32Gi, pods: 110}}}\n",
			i, i, i%3, []string{"ssd", "hdd"}[i%2], taint, 8+8*(i%2), 8+8*(i%2))
	}
	pod := func(name, node, spec string) {
		fmt.Fprintf(&b, "- {apiVersion: v1, kind: Pod, metadata: {name: %s, namespace: team, uid: uid-%s, labels: {app: %s}}, "+
			"spec: {%s%sschedulerName: default-scheduler, containers: [{name: main, image: \"x:1\", resources: {requests: {cpu: 500m, memory: 1Gi}}}]}, status: {phase: %s}}\n",
			name, name, strings.TrimRight(name, "0123456789"), node, spec, map[bool]string{true: "Pending", false: "Running"}[node == ""])
	}
	for i := range 200 {
		pod(fmt.Sprintf("filler%d", i), fmt.Sprintf("nodeName: node-%02d, ", i*7%30), "")
	}
	pod("any", "", "")
	pod("spread", "", "topologySpreadConstraints: [{maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: filler}}}], ")
	pod("affinity", "", "affinity: {podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 10, podAffinityTerm: {topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: filler}}}}]}, "+
		"nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: disk, operator: In, values: [ssd]}]}]}}}, ")
	pod("bound", "nodeName: node-03, ", "")
	pod("impossible", "", "nodeSelector: {disk: tape}, ")
	return b.String()
}
