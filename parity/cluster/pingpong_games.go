package main

import (
	"context"

	corev1 "k8s.io/api/core/v1"
)

// game is a cluster and a policy that keep a descheduler busy; those of sim/pingpong, on the real API.
type game struct {
	name, policy string
	moves        bool // a plan brings the goal closer
	loops        bool // compatible mode evicts pods that come back
	lay          func(context.Context, *table) error
}

func games() []game {
	return []game{
		{"#994", "low.yaml", true, true, func(ctx context.Context, t *table) error {
			t.node("n1", "10", nil)
			t.set("web", 5, "1", 0, apart("cache", false))
			t.set("batch-a", 1, "1", 10, nil)
			t.set("batch-b", 1, "1", 10, nil)
			t.settle(ctx)
			t.node("n2", "10", map[string]string{"pool": "b"})
			t.set("cache", 1, "1", 0, func(s *corev1.PodSpec) { s.NodeSelector = map[string]string{"pool": "b"} })
			return t.settle(ctx)
		}},
		{"#335", "low.yaml", true, false, func(ctx context.Context, t *table) error {
			t.node("n1", "10", nil)
			t.set("api", 6, "1", 10, nil)
			t.set("web", 1, "1", 0, apart("web", true))
			t.settle(ctx)
			t.node("n2", "10", nil)
			return t.settle(ctx)
		}},
		{"#1695", "low70.yaml", false, false, func(ctx context.Context, t *table) error {
			t.node("n1", "1", nil)
			t.set("large", 1, "800m", 0, nil)
			t.settle(ctx)
			t.node("n2", "1", nil)
			t.set("small", 1, "200m", 0, nil)
			return t.settle(ctx)
		}},
		{"#1584", "taints.yaml", true, true, func(ctx context.Context, t *table) error {
			t.node("n1", "10", nil)
			t.set("web", 3, "2", 0, nil)
			t.settle(ctx)
			t.node("n2", "3", nil)
			t.taint(ctx, "n1", corev1.Taint{Key: "old", Effect: corev1.TaintEffectPreferNoSchedule})
			return t.settle(ctx)
		}},
		{"affinity", "preferred.yaml", true, true, func(ctx context.Context, t *table) error {
			t.node("n1", "10", map[string]string{"pool": "a"})
			t.set("web", 4, "1", 0, towards("a"))
			t.set("api", 2, "1", 10, nil)
			t.settle(ctx)
			t.node("n2", "10", nil)
			return t.settle(ctx)
		}},
	}
}
