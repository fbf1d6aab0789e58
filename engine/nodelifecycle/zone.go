package nodelifecycle

import (
	"cmp"
	"slices"
	"time"
)

// Options say when nodes are lost and how fast their pods go.
type Options struct {
	GracePeriod            time.Duration // of silence, until a node is lost
	StartupGrace           time.Duration // the same for a node that has posted nothing yet
	MonitorPeriod          time.Duration // how often all nodes are looked at, at least
	TaintInterval          time.Duration // a node of a zone is tainted so often at most; 0: never
	SecondaryTaintInterval time.Duration // the same in a large zone that is partly lost; 0: never
	LargeZone              int           // zones of more nodes are large; small ones get no taints while partly lost
	UnhealthyFactor        float64       // share of lost nodes from which a zone is partly lost
}

// Defaults are those of kube-controller-manager.
func Defaults() Options {
	return Options{GracePeriod: 50 * time.Second, StartupGrace: time.Minute, MonitorPeriod: 5 * time.Second,
		TaintInterval: 10 * time.Second, SecondaryTaintInterval: 100 * time.Second, LargeZone: 50, UnhealthyFactor: 0.55}
}

// ZoneState is how a zone fares.
type ZoneState uint8

// The states of a zone.
const (
	Normal ZoneState = iota
	PartialDisruption
	FullDisruption
)

// String is the state as Kubernetes calls it.
func (s ZoneState) String() string {
	return [...]string{"Normal", "PartialDisruption", "FullDisruption"}[s]
}

// Zone is a failure domain.
type Zone struct {
	Name         string
	State        ZoneState
	Nodes, Ready int // that count for its state
	// TaintInterval is the time from one taint to the next; 0: there is none.
	TaintInterval time.Duration
	// LastTainted is when a node was tainted last, as far as nodes that have the taint still tell.
	LastTainted time.Time
	Tainted     []string     // nodes that have the taint, by name
	Queue       []QueuedNode // nodes that wait for it, the next one first
}

// QueuedNode is a node's in its zone's line.
type QueuedNode struct {
	Node          string
	NotReadySince time.Time // when it was lost
	TaintAt       time.Time // when its turn comes if nothing changes; zero: never
}

// ComputeZones is the state of all zones, by name, as it follows from the nodes; and whether all
// are lost, so that nobody is driven out anywhere.
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

// computeZones sums nodes up. ready and waits say who is ready, and who stands in line unless
// he has his taint.
func computeZones(nodes []*node, o Options, now time.Time, ready, waits func(*node) bool) (zones []Zone, allDown bool) {
	index := map[string]int{}
	for _, n := range nodes {
		i, ok := index[n.Zone]
		if !ok {
			i = len(zones)
			index[n.Zone] = i
			zones = append(zones, Zone{Name: n.Zone})
		}
		zones[i].count(n, ready(n), waits(n))
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

func (z *Zone) count(n *node, ready, waits bool) {
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
	if waits {
		z.Queue = append(z.Queue, QueuedNode{Node: n.Name, NotReadySince: n.Condition(Ready).Transition})
	}
}

// setTaintTimes says when whose turn comes.
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

// zoneState is a zone's state. The share is compared as Kubernetes does.
func zoneState(nodes, ready int, o Options) ZoneState {
	lost := nodes - ready
	switch {
	case ready == 0 && lost > 0:
		return FullDisruption
	case lost > 2 && float32(lost)/float32(nodes) >= float32(o.UnhealthyFactor):
		return PartialDisruption
	}
	return Normal
}

// taintInterval is how often a node of a zone is tainted.
func (o *Options) taintInterval(s ZoneState, nodes int) time.Duration {
	if s != PartialDisruption {
		return o.TaintInterval
	}
	if nodes > o.LargeZone {
		return o.SecondaryTaintInterval
	}
	return 0
}
