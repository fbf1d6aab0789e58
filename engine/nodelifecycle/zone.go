package nodelifecycle

import (
	"cmp"
	"slices"
	"time"
)

// Options configure when a silent node becomes Unknown and how fast nodes are tainted.
type Options struct {
	GracePeriod            time.Duration // silence before a node becomes Unknown
	StartupGrace           time.Duration // silence before a node that never reported becomes Unknown
	MonitorPeriod          time.Duration // maximum interval between checks of all nodes
	TaintInterval          time.Duration // minimum time between two taints in a zone; 0: no taints
	SecondaryTaintInterval time.Duration // minimum time between two taints in a large zone in PartialDisruption
	LargeZone              int           // zones with more nodes are large; others get no taints in PartialDisruption
	UnhealthyFactor        float64       // share of not-ready nodes from which a zone is in PartialDisruption
}

// Defaults returns kube-controller-manager's defaults.
func Defaults() Options {
	return Options{GracePeriod: 50 * time.Second, StartupGrace: time.Minute, MonitorPeriod: 5 * time.Second,
		TaintInterval: 10 * time.Second, SecondaryTaintInterval: 100 * time.Second, LargeZone: 50, UnhealthyFactor: 0.55}
}

// ZoneState is the state of a zone.
type ZoneState uint8

// The states of a zone.
const (
	Normal ZoneState = iota
	PartialDisruption
	FullDisruption
)

// String returns the name of the state in Kubernetes.
func (s ZoneState) String() string {
	return [...]string{"Normal", "PartialDisruption", "FullDisruption"}[s]
}

// Zone is a failure domain.
type Zone struct {
	Name         string
	State        ZoneState
	Nodes, Ready int // all nodes and ready nodes, without excluded ones
	// TaintInterval is the time between two taints; 0: no taints.
	TaintInterval time.Duration
	// LastTainted is when a node was last tainted, according to the taints of the nodes.
	LastTainted time.Time
	Tainted     []string     // tainted nodes, sorted by name
	Queue       []QueuedNode // nodes waiting for their taint, in order
}

// QueuedNode is a node in its zone's taint queue.
type QueuedNode struct {
	Node          string
	NotReadySince time.Time // last transition of its Ready condition
	TaintAt       time.Time // when it will be tainted if nothing changes; zero: never
}

// ComputeZones computes all zones from the nodes, sorted by name, and reports whether all are in
// FullDisruption, so that no node is tainted.
func ComputeZones(nodes []Node, o Options, now time.Time) (zones []Zone, allDown bool) {
	list := make([]*node, len(nodes))
	for i := range nodes {
		list[i] = &node{Node: nodes[i]}
	}
	zones, allDown = computeZones(list, o, now, func(n *node) bool { return n.Ready() == True }, func(n *node) bool { return n.Ready().notReady() })
	for i := range zones {
		zones[i].setTaintTimes(now)
	}
	return zones, allDown
}

// computeZones computes the zones. awaitsTaint reports whether a node without its taint is queued.
func computeZones(nodes []*node, o Options, now time.Time, ready, awaitsTaint func(*node) bool) (zones []Zone, allDown bool) {
	index := map[string]int{}
	for _, n := range nodes {
		i, ok := index[n.Zone]
		if !ok {
			i = len(zones)
			index[n.Zone] = i
			zones = append(zones, Zone{Name: n.Zone})
		}
		zones[i].count(n, ready(n), awaitsTaint(n))
	}
	slices.SortFunc(zones, func(a, b Zone) int { return cmp.Compare(a.Name, b.Name) })
	counted := false
	allDown = true
	for i := range zones {
		z := &zones[i]
		z.State = zoneState(z.Nodes, z.Ready, o)
		if z.Nodes > 0 {
			counted, allDown = true, allDown && z.State == FullDisruption
		}
		slices.Sort(z.Tainted)
		slices.SortFunc(z.Queue, func(a, b QueuedNode) int {
			return cmp.Or(a.NotReadySince.Compare(b.NotReadySince), cmp.Compare(a.Node, b.Node))
		})
	}
	allDown = allDown && counted
	for i := range zones {
		if !allDown {
			zones[i].TaintInterval = o.taintInterval(zones[i].State, zones[i].Nodes)
		}
	}
	return zones, allDown
}

// count adds a node to the numbers, the tainted nodes or the queue of its zone.
func (z *Zone) count(n *node, ready, awaitsTaint bool) {
	if !n.Excluded {
		z.Nodes++
		if ready {
			z.Ready++
		}
	}
	if t := n.NoExecuteTaint(); t != nil {
		z.Tainted = append(z.Tainted, n.Name)
		if t.Added.After(z.LastTainted) {
			z.LastTainted = t.Added
		}
		return
	}
	if awaitsTaint {
		z.Queue = append(z.Queue, QueuedNode{Node: n.Name, NotReadySince: n.Condition(Ready).Transition})
	}
}

// setTaintTimes sets TaintAt of the queue.
func (z *Zone) setTaintTimes(now time.Time) {
	if z.TaintInterval == 0 {
		return
	}
	at := now
	if next := z.LastTainted.Add(z.TaintInterval); next.After(now) {
		at = next
	}
	for i := range z.Queue {
		z.Queue[i].TaintAt = at.Add(time.Duration(i) * z.TaintInterval)
	}
}

// zoneState returns a zone's state. It compares the share as float32, as Kubernetes does.
func zoneState(nodes, ready int, o Options) ZoneState {
	notReady := nodes - ready
	switch {
	case ready == 0 && notReady > 0:
		return FullDisruption
	case notReady > 2 && float32(notReady)/float32(nodes) >= float32(o.UnhealthyFactor):
		return PartialDisruption
	}
	return Normal
}

// taintInterval returns the time between two taints in a zone.
func (o *Options) taintInterval(s ZoneState, nodes int) time.Duration {
	if s != PartialDisruption {
		return o.TaintInterval
	}
	if nodes > o.LargeZone {
		return o.SecondaryTaintInterval
	}
	return 0
}
