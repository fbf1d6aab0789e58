package podgc

import (
	"cmp"
	"slices"
	"time"
)

// Pod holds the properties of a pod that garbage collection depends on.
type Pod struct {
	Namespace, Name, UID string
	Node                 string // empty: not bound
	Owner                string // UID of the controller; empty: none
	Created, Ended       time.Time
	Deleting             bool
	Finished             bool // Succeeded or Failed
	Evicted              bool // Failed, because its node evicted it
}

// Node holds the properties of a node that garbage collection depends on.
type Node struct {
	Name         string
	Ready        bool
	OutOfService bool // has the taint node.kubernetes.io/out-of-service
}

// Options are the limits of garbage collection. 0 means no limit, except for Quarantine.
type Options struct {
	Threshold  int           // maximum number of finished pods
	EvictedCap int           // maximum number of evicted pods per owner
	EvictedTTL time.Duration // maximum age of evicted pods
	Quarantine time.Duration // how long a node must be missing before its pods are deleted
}

// Period is the time between collections. Quarantine is the default of Options.Quarantine.
const (
	Period     = 20 * time.Second
	Quarantine = 40 * time.Second
)

// Reason is the rule that selects a pod.
type Reason uint8

// The rules.
const (
	OutOfService Reason = iota
	Orphan
	Unscheduled
	Terminated
	Evicted
)

// String describes the rule.
func (r Reason) String() string {
	return [...]string{"terminating on an out-of-service node", "its node does not exist", "terminating and never bound",
		"too many terminated pods", "evicted too long ago or too often"}[r]
}

// Removal is a pod to delete without a grace period. A pod that has not finished becomes Failed.
type Removal struct {
	Pod    Pod
	Reason Reason
	// NodeMissingSince is set for an Orphan.
	NodeMissingSince time.Time
}

// Collector selects the pods to delete and stores since when nodes are missing. Create it with
// New.
type Collector struct {
	options Options
	missing map[string]time.Time // since when, by node
}

// New returns a Collector.
func New(o Options) *Collector { return &Collector{options: o, missing: map[string]time.Time{}} }

// Collect returns the pods to delete, in a deterministic order. node returns a node and whether it exists.
func (c *Collector) Collect(now time.Time, pods []Pod, node func(name string) (Node, bool)) []Removal {
	pods = slices.Clone(pods)
	slices.SortFunc(pods, func(a, b Pod) int {
		return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	c.updateMissing(now, pods, node)
	var out []Removal
	var ended []Pod
	for _, p := range pods {
		n, exists := Node{}, false
		if p.Deleting {
			n, exists = node(p.Node)
		}
		since, missing := c.missing[p.Node]
		switch {
		case p.Deleting && exists && !n.Ready && n.OutOfService:
			out = append(out, Removal{Pod: p, Reason: OutOfService})
		case missing && now.Sub(since) >= c.options.Quarantine:
			out = append(out, Removal{Pod: p, Reason: Orphan, NodeMissingSince: since})
		case p.Deleting && p.Node == "":
			out = append(out, Removal{Pod: p, Reason: Unscheduled})
		case p.Finished:
			ended = append(ended, p)
		}
	}
	return append(out, c.excess(now, ended)...)
}

// updateMissing records which nodes of pods are missing.
func (c *Collector) updateMissing(now time.Time, pods []Pod, node func(name string) (Node, bool)) {
	missing := map[string]time.Time{}
	for _, p := range pods {
		if p.Node == "" {
			continue
		}
		if _, exists := node(p.Node); exists {
			continue
		}
		missing[p.Node] = now
		if since, ok := c.missing[p.Node]; ok {
			missing[p.Node] = since
		}
	}
	c.missing = missing
}

// excess returns those of the finished pods that exceed a limit. Evicted pods are selected before other finished
// pods, older before newer ones. pods must be sorted by creation time.
func (c *Collector) excess(now time.Time, pods []Pod) (out []Removal) {
	slices.SortStableFunc(pods, func(a, b Pod) int { return cmp.Compare(evictedRank(b), evictedRank(a)) })
	if above := len(pods) - c.options.Threshold; c.options.Threshold > 0 && above > 0 {
		for _, p := range pods[:above] {
			out = append(out, Removal{Pod: p, Reason: Terminated})
		}
		pods = pods[above:]
	}
	retained := map[string]int{} // per owner, from the newest on
	for i := len(pods) - 1; i >= 0; i-- {
		p := pods[i]
		if !p.Evicted {
			continue
		}
		key := cmp.Or(p.Owner, "in "+p.Namespace)
		retained[key]++
		if c.options.EvictedCap > 0 && retained[key] > c.options.EvictedCap || c.options.EvictedTTL > 0 && now.Sub(p.Ended) >= c.options.EvictedTTL {
			out = append(out, Removal{Pod: p, Reason: Evicted})
		}
	}
	return out
}

// evictedRank returns the sort key that puts evicted pods first.
func evictedRank(p Pod) int {
	if p.Evicted {
		return 1
	}
	return 0
}
