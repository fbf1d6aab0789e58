package explain

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement/framework"
)

func TestExplainNode(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	s := cluster.New()
	n := node("n7", nil)
	n.Ready, n.Taints = true, []model.Taint{{Key: "gpu", Value: "true", Effect: model.NoSchedule}}
	s.UpsertNode(n)
	s.UpsertNode(node("n8", nil))
	tolerating := func(p *model.Pod) *model.Pod {
		p.Spec.Tolerations = []model.Toleration{{Key: "gpu", Op: model.TolExists}}
		return p
	}
	nominatedPod := tolerating(pod("nominated", "", 9, 100))
	nominatedPod.NominatedNodeName = "n7"
	pods := []*model.Pod{pod("run", "n7", 3, 2500), tolerating(pod("fits", "", 0, 1000)), tolerating(pod("big-1", "", 0, 2000)),
		tolerating(pod("big-2", "", 0, 3000)), pod("intolerant", "", 0, 100), nominatedPod}
	for _, p := range pods {
		s.UpsertPod(p)
	}
	s.UpsertHold(&model.Hold{Namespace: "default", Name: "avoid-1", Type: model.Avoid, Owner: model.Owner{Kind: "ReplicaSet", Name: "web", UID: "u"},
		Node: "n7", Cause: "Pressure", Count: 3, Until: now.Add(5 * time.Minute)})
	profile, err := framework.NewProfile(framework.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	e := ExplainNode(s, func(*model.Pod) *framework.Profile { return profile }, 1, "n7", pods)
	e.Conditions = []Condition{{Type: "Ready", Status: "True"}, {Type: "MemoryPressure", Status: "True", Reason: "Low", Message: "90Mi left", Since: now.Add(-3 * time.Minute)}}
	var b strings.Builder
	if err := e.Text(&b, TextOptions{Now: now, Limit: 15}); err != nil {
		t.Fatal(err)
	}
	want := `node n7
taint gpu=true:NoSchedule
condition MemoryPressure=True for 3m: Low 90Mi left

RESOURCE  REQUESTED  ALLOCATABLE  FREE   USED
cpu       2500m      4            1500m  62%
memory    0          8Gi          8Gi    0%
pods      1          10           9      10%

POD          PRIORITY  CPU    MEMORY  STATE
default/run  3         2500m  0       starting

reserved for nominated pod default/nominated (priority 9)
avoided by the pods of ReplicaSet default/web, for 5m, after 3 displacements for Pressure (hold avoid-1)

2 pending pods fit: default/nominated, default/fits
Rejected
  default/intolerant: TaintToleration: node(s) had untolerated taint(s) (gpu=true:NoSchedule)
  default/big-1, default/big-2: NodeResourcesFit: need 600m to 1600m more cpu (requests 2 to 3)
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
	data, err := e.JSON()
	var got struct {
		Node      string
		Resources []struct{ Requested, Allocatable int64 }
		Fits      []string
		Rejected  []struct{ Pod, Plugin string }
		Holds     []struct{ Type, Owner string }
	}
	if err != nil || json.Unmarshal(data, &got) != nil || got.Resources[0].Requested != 2500 || len(got.Fits) != 2 || got.Rejected[0].Plugin != "NodeResourcesFit" && got.Rejected[0].Plugin != "TaintToleration" || got.Holds[0].Owner != "ReplicaSet/web" {
		t.Errorf("got error %v and %s, want 2500m requested, 2 pods that fit and the owner of the hold", err, data)
	}
	if ExplainNode(s, nil, 1, "none", nil) != nil {
		t.Error("ExplainNode of a missing node returned an explanation, want nil")
	}
}

func TestQueueText(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	list := []PendingPod{
		{Pod: "a/late", Scheduler: "s", State: PendingNew, Created: ago(time.Minute), Since: ago(time.Minute)},
		{Pod: "a/gated", State: PendingGated, Gates: []string{"quota"}, Created: ago(time.Hour), Since: ago(time.Hour)},
		{Pod: "a/big", State: PendingUnschedulable, Priority: 7, Created: ago(3 * time.Hour), Since: ago(2 * time.Minute),
			Message: "0/2 nodes are available: 2 Insufficient cpu. preemption: 0/2 nodes are available: 2 No preemption victims found for incoming pod."},
		{Pod: "a/first", Scheduler: "s", State: PendingNew, Priority: 5, Created: ago(time.Second), Since: ago(time.Second)},
		{Pod: "a/nominated", State: PendingNominated, Nominated: "n7", Created: ago(50 * time.Hour), Since: ago(49 * time.Hour)},
	}
	SortPendingPods(list)
	var b strings.Builder
	if err := QueueText(&b, list, TextOptions{Now: now, Limit: 4}); err != nil {
		t.Fatal(err)
	}
	want := `5 waiting: 1 nominated, 2 new, 1 unschedulable, 1 gated

POD          PRIORITY  STATE          AGE  WAITS FOR
a/nominated  0         nominated      2d   victims on n7
a/first      5         new            1s   the first attempt of s
a/late       0         new            60s  the first attempt of s
a/big        7         unschedulable  3h   0/2 nodes are available: 2
                                           Insufficient cpu
and 1 more (--all shows them)
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
	if data, err := QueueJSON(nil); err != nil || !strings.Contains(string(data), `"pods": []`) {
		t.Errorf("got error %v and %s, want an empty list of pods", err, data)
	}
}
