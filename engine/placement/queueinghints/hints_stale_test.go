package queueinghints

import (
	"testing"
	"time"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement/framework"
	"github.com/berthproject/berth/internal/testkit/build"
)

// TestQueueingHintsUseCurrentGroups checks that hints read the current spread groups, which
// may change after the hints were created.
func TestQueueingHintsUseCurrentGroups(t *testing.T) {
	c := framework.DefaultConfig()
	c.Spread = framework.SpreadArgs{DefaultConstraints: []model.SpreadConstraint{{TopologyKey: "zone", MaxSkew: 1, MinDomains: 1, Hard: true}}}
	p, err := framework.NewProfile(c)
	if err != nil {
		t.Fatal(err)
	}
	s := cluster.New()
	for name, zone := range map[string]string{"n1": "a", "n2": "b"} {
		s.UpsertNode(&model.Node{Name: name, AllocatablePods: 10, Allocatable: model.Resources{MilliCPU: 1000}, Labels: model.Labels{{Key: "zone", Value: zone}}})
	}
	s.UpsertSpreadGroup(model.SpreadGroup{Kind: "Service", Namespace: "x", Name: "db", Selector: build.Selector("app", model.In, "db")})
	pod := podOfApp("w", "web", model.Owner{})
	provider := NewProvider(s, p)
	removed := decision.Delta{Events: decision.PodRemoved, Old: runningPod("n1", "web", 100, 0)}
	_, hints := provider.Hints(pod)
	if h, _, _ := hints.Hint(bySpread, &removed); h != decision.QueueSkip {
		t.Fatalf("hint without a group for the pod: %v, want QueueSkip", h)
	}
	s.UpsertSpreadGroup(model.SpreadGroup{Kind: "Service", Namespace: "x", Name: "web", Selector: build.Selector("app", model.In, "web")})
	_, hints = provider.Hints(pod)
	if h, _, _ := hints.Hint(bySpread, &removed); h != decision.QueueForAnyNode {
		t.Errorf("hint for a removed pod of its group: %v, want QueueForAnyNode", h)
	}
}

// TestQueueingHintsIgnoreOtherOwnersHolds checks that hints ignore the Avoid Holds of other
// owners. Hints may be shared with pods of these owners.
func TestQueueingHintsIgnoreOtherOwnersHolds(t *testing.T) {
	p, err := framework.NewProfile(framework.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	s := cluster.New()
	s.UpsertNode(&model.Node{Name: "n1", AllocatablePods: 10, Allocatable: model.Resources{MilliCPU: 1000}})
	a, b := model.Owner{Kind: "Job", Name: "a", UID: "a"}, model.Owner{Kind: "Job", Name: "b", UID: "b"}
	provider := NewProvider(s, p)
	provider.Hints(podOfApp("a-1", "web", a))
	s.UpsertHold(&model.Hold{Namespace: "x", Name: "h", Type: model.Avoid, Owner: a, Node: "n1", Until: time.Unix(1e9, 0)})
	removed := decision.Delta{Events: decision.PodRemoved, Old: runningPod("n1", "other", 500, 0)}
	for _, tc := range []struct {
		owner model.Owner
		want  decision.QueueingHint
	}{{b, decision.QueueForNode}, {a, decision.QueueSkip}} {
		_, hints := provider.Hints(podOfApp(tc.owner.Name+"-2", "web", tc.owner))
		if h, _, _ := hints.Hint(byFit, &removed); h != tc.want {
			t.Errorf("hint for a pod of owner %s, with an Avoid Hold of owner a: %v, want %v", tc.owner.Name, h, tc.want)
		}
	}
}

// commonSpec is the specification of the pods in these tests.
var commonSpec = &model.PodSpec{SchedulerName: framework.DefaultConfig().Name, Requests: model.Resources{MilliCPU: 100}, NeverPreempts: true}

func podOfApp(name, app string, owner model.Owner) *model.Pod {
	return &model.Pod{Namespace: "x", Name: name, UID: name, Spec: commonSpec, Owner: owner, Labels: model.Labels{{Key: "app", Value: app}}}
}
