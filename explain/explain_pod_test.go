package explain

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement/framework"
	"github.com/berthproject/berth/engine/preemption"
)

const gib = 1 << 30

func node(name string, labels map[string]string) *model.Node {
	labelsWithHostname := map[string]string{framework.HostnameKey: name}
	maps.Copy(labelsWithHostname, labels)
	return &model.Node{Name: name, Labels: model.LabelsOf(labelsWithHostname), AllocatablePods: 10, Allocatable: model.Resources{MilliCPU: 4000, Memory: 8 * gib}}
}

func pod(name, node string, priority int32, cpu int64) *model.Pod {
	return &model.Pod{Namespace: "default", Name: name, UID: name, NodeName: node, Spec: &model.PodSpec{
		SchedulerName: "default-scheduler", Priority: priority, Requests: model.Resources{MilliCPU: cpu}, ImageContainers: 1}}
}

// explain evaluates a pod in a cluster of the objects.
func explain(t *testing.T, p *model.Pod, objects ...any) *PodExplanation {
	t.Helper()
	s := cluster.New()
	for _, o := range objects {
		switch o := o.(type) {
		case *model.Node:
			s.UpsertNode(o)
		case *model.Pod:
			s.UpsertPod(o)
		}
	}
	s.UpsertPod(p)
	profile, err := framework.NewProfile(framework.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	return ExplainPod(s, profile, 1, preemption.Defaults(), p)
}

func explanationText(t *testing.T, e *PodExplanation) string {
	t.Helper()
	var b strings.Builder
	if err := e.Text(&b, false); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestExplainPendingPod(t *testing.T) {
	web := pod("web-1", "", 0, 500)
	web.Spec.NodeSelector.Labels = model.Labels{{Key: "disk", Value: "ssd"}}
	cordoned := node("n3", map[string]string{"disk": "ssd"})
	cordoned.Unschedulable = true
	e := explain(t, web, node("n1", map[string]string{"disk": "hdd"}), node("n2", nil), cordoned,
		node("n7", map[string]string{"disk": "ssd"}), pod("batch-3", "n7", 0, 3800))
	got := explanationText(t, e)
	for _, want := range []string{`pod default/web-1
unschedulable: fits 0 of 4 nodes

NodeUnschedulable rejects 1 node
  n3: node(s) were unschedulable

NodeAffinity rejects 2 nodes
  n1, n2: node(s) didn't match Pod's node affinity/selector (disk=ssd)

NodeResourcesFit rejects 1 node
  n7: needs 300m more cpu (requests 500m, free 200m)

Preemption would not make the pod schedulable on any node

The scheduler retries the pod when
  the pod is updated
  a node is added,`, `
  a node is added, a node's labels change (NodeAffinity)
`, `
Each of these changes makes the pod schedulable (verified on a fork of the cluster state)
  free 300m cpu on n7
  uncordon n3
  add label disk=ssd to n2
  change label disk of n1 from hdd to ssd
  remove disk=ssd from the pod's nodeSelector; the pod would run on n`} {
		if !strings.Contains(got, want) {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	}
	data, err := e.JSON()
	if err != nil {
		t.Fatal(err)
	}
	var view struct {
		Suggestions []struct {
			Message, Node string
			Changes       []struct {
				Kind, Node, Key string
				Amount          int64
			}
		}
		Preemption      struct{ Outcome string }
		RequeueTriggers []struct{ Plugin string }
	}
	if err := json.Unmarshal(data, &view); err != nil {
		t.Fatal(err)
	}
	if c := view.Suggestions[0].Changes[0]; c.Kind != "FreeResource" || c.Node != "n7" || c.Key != "cpu" || c.Amount != 300 || view.Preemption.Outcome != "noCandidates" || len(view.RequeueTriggers) != 3 {
		t.Errorf("want a change that frees 300m of cpu on n7, no preemption candidates and 3 triggers in %s", data)
	}
}

func TestExplainPreemptor(t *testing.T) {
	e := explain(t, pod("web", "", 10, 500), node("n7", nil), pod("batch-3", "n7", 0, 3800))
	for _, want := range []string{"Preemption would make the pod schedulable: evict default/batch-3 from n7", "preempt default/batch-3 (priority 0) on n7"} {
		if got := explanationText(t, e); !strings.Contains(got, want) {
			t.Errorf("want %q in\n%s", want, got)
		}
	}
	nominatedPod, victim := pod("web", "", 10, 500), pod("batch-3", "n7", 0, 3800)
	nominatedPod.NominatedNodeName, victim.Deleting, victim.DisruptionReason = "n7", true, "PreemptionByScheduler"
	e = explain(t, nominatedPod, node("n7", nil), victim)
	for _, want := range []string{"nominated to n7, waits for default/batch-3 to terminate", "victims are still terminating"} {
		if got := explanationText(t, e); !strings.Contains(got, want) {
			t.Errorf("want %q in\n%s", want, got)
		}
	}
}

func TestExplainPodFitsNoEmptyNode(t *testing.T) {
	e := explain(t, pod("huge", "", 0, 9000), node("n1", nil), node("n2", nil), pod("x", "n1", 0, 100))
	got := explanationText(t, e)
	for _, want := range []string{"The pod would not fit on any node, even an empty one", "n1, n2: NodeResourcesFit: cpu can never fit: requests 9, the node has 4 in all",
		"lower the pod's cpu request to 4; the pod would run on n2", "add a node like n1 or n2, but with 9 cpu\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("want %q in\n%s", want, got)
		}
	}
}
