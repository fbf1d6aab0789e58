package explain

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement/framework"
	"github.com/berthproject/berth/engine/preemption"
)

func insufficientCPU(node string, want, used, have int64) decision.NodeRecord {
	return decision.NodeRecord{Name: node, Verdict: decision.Verdict{Plugin: decision.NodeResourcesFit, Code: decision.Unschedulable,
		Reasons: []decision.Reason{{Kind: decision.ReasonInsufficient, Subject: "cpu", Want: want, Used: used, Have: have}}}}
}

func recordText(t *testing.T, rec *decision.Record, node string) string {
	t.Helper()
	var b strings.Builder
	if err := (&PodExplanation{Record: rec, Node: node}).Text(&b, false); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestSmallestShortageComesFirst(t *testing.T) {
	rec := &decision.Record{Pod: "default/web", Outcome: decision.Infeasible, Nodes: []decision.NodeRecord{
		insufficientCPU("n1", 500, 3900, 4000), insufficientCPU("n7", 500, 3800, 4000), insufficientCPU("n8", 9000, 0, 4000),
		{Name: "n9", Verdict: decision.Verdict{Plugin: decision.TaintToleration, Code: decision.UnschedulableAndUnresolvable,
			Reasons: []decision.Reason{{Kind: decision.ReasonTaint, Subject: "gpu=true:NoSchedule"}}}},
	}}
	want := `pod default/web
unschedulable: fits 0 of 4 nodes

TaintToleration rejects 1 node
  n9: node(s) had untolerated taint(s) (gpu=true:NoSchedule)

NodeResourcesFit rejects 3 nodes
  2 nodes: need 300m to 400m more cpu (requests 500m)
    n7: needs 300m more cpu (requests 500m, free 200m)
    n1: needs 400m more cpu (requests 500m, free 100m)
  n8: cpu can never fit: requests 9, the node has 4 in all
`
	if got, _, _ := strings.Cut(recordText(t, rec, ""), "\nThe scheduler retries"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestManyNodesAreGrouped(t *testing.T) {
	rec := &decision.Record{Pod: "a/b", Outcome: decision.Infeasible}
	for i := range 40 {
		rec.Nodes = append(rec.Nodes, insufficientCPU(fmt.Sprintf("n%02d", i), 1000, int64(i/10), 500))
	}
	got := recordText(t, rec, "")
	for _, want := range []string{"NodeResourcesFit rejects 40 nodes", "n00, n01, n02, n03, n04, n05 and 34 more: cpu can never fit"} {
		if !strings.Contains(got, want) {
			t.Errorf("want %q in\n%s", want, got)
		}
	}
	for i := range 20 {
		rec.Nodes = append(rec.Nodes, insufficientCPU(fmt.Sprintf("m%02d", i), 1000, int64(i+1), 1000))
	}
	got = recordText(t, rec, "")
	for _, want := range []string{"rejects 60 nodes", "20 nodes: need 1m to 20m more cpu (requests 1)", "    m02: needs 3m", "and 17 more with a larger shortage"} {
		if !strings.Contains(got, want) {
			t.Errorf("want %q in\n%s", want, got)
		}
	}
	var b strings.Builder
	if err := (&PodExplanation{Record: rec}).Text(&b, true); err != nil || !strings.Contains(b.String(), "    m19: needs 20m") || strings.Contains(b.String(), "more,") {
		t.Errorf("got error %v, want all nodes in\n%s", err, b.String())
	}
}

func TestScoreTable(t *testing.T) {
	rec := &decision.Record{Pod: "a/b", Outcome: decision.Scheduled, Choice: "n03", Top: []string{"n01", "n03"}}
	for i := range 20 {
		n := decision.NodeRecord{Name: fmt.Sprintf("n%02d", i), Total: 300, Scores: []decision.Score{{Plugin: decision.TaintToleration, Points: 300}}}
		if i == 1 || i == 3 {
			n.Total = 400
		}
		rec.Nodes = append(rec.Nodes, n)
	}
	got := recordText(t, rec, "n19")
	lines := strings.Split(got, "\n")
	if !strings.HasPrefix(lines[4], "n03 *") || !strings.Contains(got, "n19 (here)") || !strings.Contains(got, "2 nodes have the same total") {
		t.Errorf("want n03 first, n19 as the pod's node and 2 equal totals in\n%s", got)
	}
}

func TestFormatQuantity(t *testing.T) {
	for want, got := range map[string]string{
		"300m": FormatQuantity("cpu", 300), "2": FormatQuantity("cpu", 2000), "1.5Gi": FormatQuantity("memory", 3<<29), "512Mi": FormatQuantity("memory", 512<<20),
		"-1Gi": FormatQuantity("memory", -1<<30), "7": FormatQuantity("nvidia.com/gpu", 7), "0": FormatQuantity("memory", 0),
	} {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestJSONSchema(t *testing.T) {
	rec := &decision.Record{Pod: "a/b", Outcome: decision.Scheduled, Choice: "n", Top: []string{"n"}, Nodes: []decision.NodeRecord{
		insufficientCPU("m", 500, 0, 400), {Name: "n", Total: 0, Scores: []decision.Score{{Plugin: decision.ImageLocality}}}}}
	data, err := (&PodExplanation{Record: rec}).JSON()
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Outcome string
		Nodes   []map[string]any
	}
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	m, n := got.Nodes[0], got.Nodes[1]
	if got.Outcome != "scheduled" || m["feasible"] != false || m["code"] != "Unschedulable" || n["total"] != 0.0 || n["scores"].(map[string]any)["ImageLocality"] != 0.0 {
		t.Errorf("want a rejected and a feasible node with a total of 0 in %s", data)
	}
}

func TestFormatRange(t *testing.T) {
	for want, got := range map[string]string{
		"4000m to 4100m": formatRange("cpu", 4000, 4100), "2 to 3": formatRange("cpu", 2000, 3000), "500m": formatRange("cpu", 500, 500), "1Gi to 2Gi": formatRange("memory", 1<<30, 2<<30),
	} {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestExplainPodOnMissingNode(t *testing.T) {
	s := cluster.New()
	s.UpsertNode(&model.Node{Name: "n1", AllocatablePods: 10})
	p, err := framework.NewProfile(framework.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	for node, want := range map[string]string{"n1": ", bound to n1\n", "n9": ", bound to n9, which does not exist"} {
		pod := &model.Pod{Namespace: "a", Name: "b", UID: "u", NodeName: node, Spec: &model.PodSpec{SchedulerName: p.Name()}}
		var b strings.Builder
		if err := ExplainPod(s, p, 1, preemption.Options{}, pod).Text(&b, false); err != nil || !strings.Contains(b.String(), want) {
			t.Errorf("got error %v, want %q in\n%s", err, want, b.String())
		}
	}
}
