package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"

	"github.com/berthproject/berth/drain"
	"github.com/berthproject/berth/engine/descheduling"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/nodelifecycle"
	"github.com/berthproject/berth/engine/scheduling"
	"github.com/berthproject/berth/internal/config"
	"github.com/berthproject/berth/internal/recording"
	"github.com/berthproject/berth/internal/settings"
)

// recordCluster records two nodes, of which n2 is not ready later, two replicas on n1 and a budget that allows one eviction.
func recordCluster(t *testing.T, dir string) (first, second time.Time) {
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

// TestEarlierPreviews checks the answers for two times, and that they require the permissions of the present ones.
func TestEarlierPreviews(t *testing.T) {
	dir := t.TempDir()
	first, second := recordCluster(t, dir)
	s, err := settings.Load(nil)
	if err != nil {
		t.Fatal(err)
	}
	a := uiAnswers{settings: s, journal: dir, policy: config.DefaultDescheduler().Policy}
	type get = func(ctx context.Context, c *rest.Config, at time.Time) ([]byte, error)
	for name, tc := range map[string]struct {
		get           get
		first, second []string // parts of the answer
		forbidden     []string // permissions that do not suffice
	}{
		"budgets": {func(ctx context.Context, c *rest.Config, at time.Time) ([]byte, error) {
			return a.budgetsAt(ctx, c, "shop", at)
		},
			[]string{`"minAvailable":"50%"`, `"disruptionsAllowed":1`, `"web-9":"1970-01-01T00:16:40Z"`, `"reason":"SufficientPods"`}, []string{`"disruptionsAllowed":0`, `"reason":"InsufficientPods"`}, []string{"pods shop"}},
		"zones": {a.zonesAt, []string{`"nodes":2,"ready":2`}, []string{`"name":"r/a","state":"FullDisruption","nodes":1,"ready":0`, `"ready":"Unknown","since":"1970-01-01T00:18:20Z"`}, []string{"pods "}},
		"drain": {func(ctx context.Context, c *rest.Config, at time.Time) ([]byte, error) {
			return a.drainAt(ctx, c, []string{"n1"}, drain.Options{IgnoreDaemonSets: true}, at)
		}, []string{`"outcome": "moved"`, `"to": "n2"`}, []string{`"outcome": "pending"`}, allResourcesBut("poddisruptionbudgets")},
		"descheduler": {func(ctx context.Context, c *rest.Config, at time.Time) ([]byte, error) {
			return a.deschedulerAt(ctx, c, nil, at)
		}, []string{`"from": "n1"`, `"to": "n2"`, `"supported": true`}, []string{`"moves": []`}, allResourcesBut("holds")},
		"node": {func(ctx context.Context, c *rest.Config, at time.Time) ([]byte, error) {
			return a.nodePressureAt(ctx, c, "n1", at)
		},
			[]string{`{"node":"n1"}`}, []string{`{"node":"n1"}`}, []string{"nodes "}},
	} {
		for at, want := range map[time.Time][]string{first: tc.first, second: tc.second} {
			data, err := tc.get(t.Context(), newAuthorizer(t, "*"), at)
			if err != nil || !json.Valid(data) {
				t.Errorf("%s at %v: got %s, %v", name, at.Unix(), data, err)
			}
			for _, part := range want {
				if !strings.Contains(string(data), part) {
					t.Errorf("%s at %v: got %s, want %s", name, at.Unix(), data, part)
				}
			}
		}
		if data, err := tc.get(t.Context(), newAuthorizer(t, tc.forbidden...), first); !apierrors.IsForbidden(err) {
			t.Errorf("%s with permissions %q: got %s, %v, want forbidden", name, tc.forbidden, data, err)
		}
		if _, err := tc.get(t.Context(), newAuthorizer(t, "*"), first.Add(-time.Second)); !apierrors.IsNotFound(err) {
			t.Errorf("%s before the recording: got %v, want not found", name, err)
		}
	}
	if _, err := a.nodePressureAt(t.Context(), newAuthorizer(t, "*"), "n2", first); !apierrors.IsNotFound(err) {
		t.Errorf("report of n2: got %v, want not found", err)
	}
	var list policyv1.PodDisruptionBudgetList
	if data, err := a.budgetsAt(t.Context(), newAuthorizer(t, "*"), "other", first); err != nil || json.Unmarshal(data, &list) != nil || len(list.Items) != 0 {
		t.Errorf("budgets of another namespace: got %s, %v, want none", data, err)
	}
}
