package scenarios

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// rows are the rows of features.md that scenarios tell, by section. Left out are those that are
// about devices, about how many workers a loop has, and about what later versions of Kubernetes are to have.
var rows = map[string][]string{
	"1.2.1": {`"memory.available"`, `"allocatableMemory.available"`, `"nodefs.available/.inodesFree"`, `"imagefs.available/.inodesFree"`, `"containerfs.available/.inodesFree"`,
		`"pid.available"`, `"syntax"`, `"default hard (Linux)"`, `"partial override trap"`, `"soft thresholds"`, `"evictionMinimumReclaim"`, `"evictionPressureTransitionPeriod"`,
		`"evictionMaxPodGracePeriod"`, `"hard grace"`, `"allocatable"`},
	// Step 0 and notifications of the kernel are a real node's.
	"1.2.2": {`"period"`, `"1 and 2"`, `"2 and 3"`, `"4"`, `"5"`, `"6"`, `"7"`, `"8"`},
	"1.2.3": {`"memory, allocatableMemory"`, `"nodefs / imagefs / containerfs bytes"`, `"which usage is counted"`, `"inodes"`, `"pid"`, `"QoS"`},
	"1.2.4": {`"single disk"`, `"dedicated imagefs"`, `"split"`, `"memory, pid"`},
	// Annotations and metrics are not seen here, quotas of projects are not there.
	"1.2.5": {`"emptyDir sizeLimit"`, `"pod ephemeral-storage limit"`, `"container ephemeral-storage limit"`, `"evicted status"`, `"DisruptionTarget"`, `"node conditions"`,
		`"taints"`, `"critical pods"`, `"PDB"`},
	// Other reasons, preemption by the node and its shutdown are notified by the tests of agent.
	"1.3": {`"pressure"`, `"predicates re-checked"`, `"resource reasons"`, `"outcome"`},
	"1.4": {`"not-ready"`, `"not-ready" at creation`, `"unreachable"`, `"memory-pressure, disk-pressure, pid-pressure"`, `"network-unavailable"`, `"unschedulable"`, `"out-of-service"`,
		`"node.cloudprovider.kubernetes.io/uninitialized, .../shutdown"`, `"descheduler- or autoscaler-owned"`, `"registerWithTaints"`, `"heartbeats"`,
		`"node-monitor-grace-period"`, `"zone state"`, `"NoExecute taint rate"`, `"pods on not-ready nodes"`, `"default tolerations"`,
		`"memory-pressure toleration"`, `"matching"`, `"taint eviction"`, `"deletion"`},
	"1.5.1": {`"pod Succeeded, Failed, Pending, or already terminating"`, `"no PDB matches"`, `"more than one PDB matches"`, `"unready pod, policy AlwaysAllow"`,
		`"unready pod, IfHealthyBudget"`, `"observedGeneration < generation"`, `"disruptionsAllowed < 0"`, `"disruptedPods > 2000"`, `"disruptionsAllowed = 0"`,
		`"allowed"`, `"then"`, `"dryRun"`, `"name mismatch; missing"`},
	"1.5.2": {`"expectedPods"`, `"desiredHealthy"`, `"currentHealthy"`, `"disruptionsAllowed"`, `"disruptedPods"`, `"failure"`, `"selector"`,
		`"stale DisruptionTarget"`, `"unhealthyPodEvictionPolicy"`},
	"1.6": {`"pod GC"`, `"deletion"`, `"kubelet sequence"`, `"eviction override"`, `"EndpointSlice"`, `"controller scale-down order"`,
		`"ReplicaSet/Deployment terminating count"`},
	// Issues of kubernetes/kubernetes.
	"#": {"31778", "41032", "43916", "51835", "54368", "54525", "66811", "72320", "74947", "76325", "80389", "90794", "91492", "94245", "101674", "102993", "106419", "108982", "113891", "117065", "118172", "121809", "138372", "139205"},
}

// TestEveryFeatureHasAScenario: each row is named at the top of a scenario.
func TestEveryFeatureHasAScenario(t *testing.T) {
	files, err := filepath.Glob("*.txt")
	if err != nil {
		t.Fatal(err)
	}
	var tops []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var top []string
		for line := range strings.Lines(string(text)) {
			if !strings.HasPrefix(line, "#") {
				break
			}
			top = append(top, strings.TrimSpace(strings.TrimPrefix(line, "#")))
		}
		tops = append(tops, "#"+strings.Join(top, " "))
	}
	for section, names := range rows {
		for _, name := range names {
			found := false
			for _, top := range tops {
				found = found || strings.Contains(top, section) && strings.Contains(top, name)
			}
			if !found {
				t.Errorf("no scenario's first lines name %s %s", section, name)
			}
		}
	}
}
