package main

import (
	"context"

	corev1 "k8s.io/api/core/v1"
)

// scenario is a cluster and a policy of sim/thrashing with which the Kubernetes descheduler evicts
// pods repeatedly. Most names are numbers of its issues.
type scenario struct {
	name, policy    string
	expectMoves     bool // a plan improves the goal
	expectThrashing bool // compatible mode evicts pods that return
	setUp           func(context.Context, *scenarioRun) error
}

func scenarios() []scenario {
	return []scenario{
		{"#994", "low.yaml", true, true, func(ctx context.Context, t *scenarioRun) error {
			t.createNode("n1", "10", nil)
			t.createReplicaSet("web", 5, "1", 0, antiAffinity("cache", false))
			t.createReplicaSet("batch-a", 1, "1", 10, nil)
			t.createReplicaSet("batch-b", 1, "1", 10, nil)
			if err := t.settle(ctx); err != nil {
				return err
			}
			t.createNode("n2", "10", map[string]string{"pool": "b"})
			t.createReplicaSet("cache", 1, "1", 0, func(s *corev1.PodSpec) { s.NodeSelector = map[string]string{"pool": "b"} })
			return t.settle(ctx)
		}},
		{"#335", "low.yaml", true, false, func(ctx context.Context, t *scenarioRun) error {
			t.createNode("n1", "10", nil)
			t.createReplicaSet("api", 6, "1", 10, nil)
			t.createReplicaSet("web", 1, "1", 0, antiAffinity("web", true))
			if err := t.settle(ctx); err != nil {
				return err
			}
			t.createNode("n2", "10", nil)
			return t.settle(ctx)
		}},
		{"#1695", "low70.yaml", false, false, func(ctx context.Context, t *scenarioRun) error {
			t.createNode("n1", "1", nil)
			t.createReplicaSet("large", 1, "800m", 0, nil)
			if err := t.settle(ctx); err != nil {
				return err
			}
			t.createNode("n2", "1", nil)
			t.createReplicaSet("small", 1, "200m", 0, nil)
			return t.settle(ctx)
		}},
		{"#1584", "taints.yaml", true, true, func(ctx context.Context, t *scenarioRun) error {
			t.createNode("n1", "10", nil)
			t.createReplicaSet("web", 3, "2", 0, nil)
			if err := t.settle(ctx); err != nil {
				return err
			}
			t.createNode("n2", "3", nil)
			t.taint(ctx, "n1", corev1.Taint{Key: "old", Effect: corev1.TaintEffectPreferNoSchedule})
			return t.settle(ctx)
		}},
		{"affinity", "preferred.yaml", true, true, func(ctx context.Context, t *scenarioRun) error {
			t.createNode("n1", "10", map[string]string{"pool": "a"})
			t.createReplicaSet("web", 4, "1", 0, preferPool("a"))
			t.createReplicaSet("api", 2, "1", 10, nil)
			if err := t.settle(ctx); err != nil {
				return err
			}
			t.createNode("n2", "10", nil)
			return t.settle(ctx)
		}},
	}
}
