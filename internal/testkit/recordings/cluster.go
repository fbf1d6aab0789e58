package recordings

import (
	"fmt"
	"testing"
	"time"

	"github.com/berthproject/berth/engine/descheduling"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/nodelifecycle"
	"github.com/berthproject/berth/engine/scheduling"
	"github.com/berthproject/berth/internal/recording"
)

// Cluster writes a recording of a cluster to dir. At the time first, the cluster has the nodes n1 and n2, two replicas on
// n1, and a budget that allows one eviction. At the time second, n2 becomes unreachable and the budget allows no more
// evictions.
func Cluster(t testing.TB, dir string) (first, second time.Time) {
	t.Helper()
	r, err := recording.Open(dir, recording.Options{Writer: "up"})
	if err != nil {
		t.Fatal(err)
	}
	first, second = time.Unix(1000, 0), time.Unix(1100, 0)
	if err := r.Start(first, map[string]any{}); err != nil {
		t.Fatal(err)
	}
	node := func(name string, ready bool) *model.Node {
		return &model.Node{Name: name, UID: name, Labels: model.Labels{{Key: "kubernetes.io/hostname", Value: name}}, Allocatable: model.Resources{MilliCPU: 4000, Memory: 1 << 30}, AllocatablePods: 10, Ready: ready}
	}
	budget := func(allowed int32) *model.Budget {
		selector := &model.Selector{}
		return &model.Budget{Namespace: "shop", Name: "web", Selector: selector, MinAvailable: model.IntOrPercent{Set: true, Percent: true, Value: 50}, DisruptionsAllowed: allowed, CurrentHealthy: 1 + allowed, DesiredHealthy: 1, ExpectedPods: 2, ObservedGeneration: 1,
			Disrupted: []string{"web-9"}, DisruptedAt: []time.Time{first}}
	}
	spec := &model.PodSpec{SchedulerName: "default-scheduler", Requests: model.Resources{MilliCPU: 100}, Scoring: model.Resources{MilliCPU: 100}}
	events := []scheduling.Event{node("n1", true), node("n2", true), &model.Namespace{Name: "shop"}, budget(1)}
	for i := range 2 {
		uid := fmt.Sprint("u", i)
		r.Observe(first, &recording.PodDetails{UID: uid, Details: descheduling.PodDetails{HasPriority: true, Images: []string{"web"}, Owners: []model.Owner{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", UID: "rs"}}}})
		events = append(events, &model.Pod{Namespace: "shop", Name: fmt.Sprint("web-", i), UID: uid, NodeName: "n1", Spec: spec, Ready: true, Owner: model.Owner{Kind: "ReplicaSet", Name: "web", UID: "rs"}})
	}
	r.Observe(first, &recording.HoldSupport{Honored: true})
	r.Add(first, events, 0, nil, time.Time{})
	r.Observe(first, &recording.NodePressure{Node: "n1", Report: `{"node":"n1"}`})
	r.Observe(second, &recording.NodeStatus{Node: nodelifecycle.Node{Name: "n2", UID: "n2", Zone: "r/a",
		Conditions: []nodelifecycle.Condition{{Type: nodelifecycle.Ready, Status: nodelifecycle.Unknown, Transition: second}}}})
	lost := node("n2", false)
	lost.Taints = []model.Taint{{Key: nodelifecycle.TaintUnreachable, Effect: model.NoExecute}}
	r.Add(second, []scheduling.Event{lost, budget(0)}, 0, nil, time.Time{})
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	return first, second
}
