package endpoints

import (
	"context"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// zoneWeight is the part of a node that determines the distribution of topology-aware hints over zones.
type zoneWeight struct {
	zone  string
	ready bool
	cpu   int64 // millicores
}

func nodeWeight(n *corev1.Node) (w zoneWeight) {
	if n == nil {
		return w
	}
	w.zone, w.cpu = n.Labels[corev1.LabelTopologyZone], n.Status.Allocatable.Cpu().MilliValue()
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			w.ready = c.Status == corev1.ConditionTrue
		}
	}
	return w
}

// updateZones updates the node data for topology hints and enqueues the Services whose hints are affected.
func (c *controller) updateZones(context.Context, struct{}) (time.Duration, error) {
	nodes, err := c.nodes.List(labels.Everything())
	if err != nil {
		return 0, err
	}
	before := c.zones.GetOverloadedServices()
	c.zones.SetNodes(c.log, nodes)
	affected := slices.Concat(before, c.zones.GetOverloadedServices())
	slices.Sort(affected)
	for _, key := range affected {
		if namespace, name, ok := strings.Cut(key, "/"); ok {
			c.queue.Add(serviceKey{namespace, name})
		}
	}
	return 0, nil
}
