package nodehealth

import (
	"cmp"
	"slices"
	"time"
)

// Options say when nodes are lost and how fast their pods go.
type Options struct {
	GracePeriod     time.Duration // of silence, until a node is lost
	StartupGrace    time.Duration // the same for a node that has posted nothing yet
	MonitorPeriod   time.Duration // how often all nodes are looked at, at least
	Every           time.Duration // a node of a zone is tainted so often at most; 0: never
	SecondaryEvery  time.Duration // the same in a large zone that is partly lost; 0: never
	LargeZone       int           // zones of more nodes are large; small ones get no taints while partly lost
	UnhealthyFactor float64       // share of lost nodes from which a zone is partly lost
}

// Defaults are those of kube-controller-manager.
func Defaults() Options {
	return Options{GracePeriod: 50 * time.Second, StartupGrace: time.Minute, MonitorPeriod: 5 * time.Second,
		Every: 10 * time.Second, SecondaryEvery: 100 * time.Second, LargeZone: 50, UnhealthyFactor: 0.55}
}

// State is how a zone fares.
type State uint8

// The states of a zone.
const (
	Normal State = iota
	Partial
	Full
)

// String is the state as Kubernetes calls it.
func (s State) String() string {
	return [...]string{"Normal", "PartialDisruption", "FullDisruption"}[s]
}

// Zone is a failure domain.
type Zone struct {
	Name         string
	State        State
	Nodes, Ready int // that count for its state
	// Every is the time from one taint to the next; 0: there is none.
	Every time.Duration
	// Last is when a node was tainted last, as far as nodes that have the taint still tell.
	Last    time.Time
	Tainted []string // nodes that have the taint, by name
	Line    []Place  // nodes that wait for it, the next one first
}

// Place is a node's in its zone's line.
type Place struct {
	Node  string
	Since time.Time // when it was lost
	At    time.Time // when its turn comes if nothing changes; zero: never
}

// Survey is the state of all zones, by name, as it follows from the nodes; and whether all
// are lost, so that nobody is driven out anywhere.
func Survey(nodes []Node, o Options, now time.Time) (zones []Zone, allDown bool) {
	list := make([]*node, len(nodes))
	for i := range nodes {
		list[i] = &node{Node: nodes[i]}
	}
	zones, allDown = survey(list, o, now, func(n *node) bool { return n.Ready() == True }, func(n *node) bool { return n.Ready().lost() })
	for i := range zones {
		zones[i].times(now)
	}
	return zones, allDown
}

// survey sums nodes up. ready and waits say who is ready, and who stands in line unless
// he has his taint.
func survey(nodes []*node, o Options, now time.Time, ready, waits func(*node) bool) (zones []Zone, allDown bool) {
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
		z.State = stateOf(z.Nodes, z.Ready, o)
		if z.Nodes > 0 {
			counted, allDown = true, allDown && z.State == Full
		}
		slices.Sort(z.Tainted)
		slices.SortFunc(z.Line, func(a, b Place) int {
			return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Node, b.Node))
		})
	}
	allDown = allDown && counted
	for i := range zones {
		if !allDown {
			zones[i].Every = o.every(zones[i].State, zones[i].Nodes)
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
	if t := n.Expelling(); t != nil {
		z.Tainted = append(z.Tainted, n.Name)
		if t.Added.After(z.Last) {
			z.Last = t.Added
		}
		return
	}
	if waits {
		z.Line = append(z.Line, Place{Node: n.Name, Since: n.Condition(Ready).Transition})
	}
}

// times says when whose turn comes.
func (z *Zone) times(now time.Time) {
	if z.Every == 0 {
		return
	}
	at := now
	if next := z.Last.Add(z.Every); next.After(now) {
		at = next
	}
	for i := range z.Line {
		z.Line[i].At = at.Add(time.Duration(i) * z.Every)
	}
}

// stateOf is a zone's state. The share is compared as Kubernetes does.
func stateOf(nodes, ready int, o Options) State {
	lost := nodes - ready
	switch {
	case ready == 0 && lost > 0:
		return Full
	case lost > 2 && float32(lost)/float32(nodes) >= float32(o.UnhealthyFactor):
		return Partial
	}
	return Normal
}

// every is how often a node of a zone is tainted.
func (o *Options) every(s State, nodes int) time.Duration {
	if s != Partial {
		return o.Every
	}
	if nodes > o.LargeZone {
		return o.SecondaryEvery
	}
	return 0
}
