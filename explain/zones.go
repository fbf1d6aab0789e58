package explain

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/berthproject/berth/engine/nodelifecycle"
	"github.com/berthproject/berth/internal/table"
)

// Zones are the failure domains of a cluster with their unready nodes.
type Zones struct {
	// AllUnready reports whether no zone has a ready node. Then no node is tainted.
	AllUnready bool   `json:"allUnready"`
	Zones      []Zone `json:"zones"`
}

// Zone is a failure domain.
type Zone struct {
	Name  string `json:"name"` // region/zone; empty: nodes without such labels
	State string `json:"state"`
	Nodes int    `json:"nodes"` // nodes that count for the state
	Ready int    `json:"ready"`
	// TaintIntervalSeconds is the interval of NoExecute taints. If it is 0, no node is tainted, for Reason.
	TaintIntervalSeconds float64       `json:"taintIntervalSeconds"`
	Reason               string        `json:"reason,omitempty"`
	LastTaint            time.Time     `json:"lastTaint,omitzero"`
	UnreadyNodes         []UnreadyNode `json:"unreadyNodes,omitempty"`
}

// UnreadyNode is a node that is not ready: it has a NoExecute taint, or waits for it.
type UnreadyNode struct {
	Name          string    `json:"name"`
	Ready         string    `json:"ready"` // status of the Ready condition
	Since         time.Time `json:"since,omitzero"`
	Tainted       time.Time `json:"tainted,omitzero"`
	QueuePosition int       `json:"queuePosition,omitempty"` // 1: the next one
	TaintAt       time.Time `json:"taintAt,omitzero"`        // expected time; zero: never
}

// ZonesOf returns the zones of the nodes.
func ZonesOf(nodes []nodelifecycle.Node, o nodelifecycle.Options, now time.Time) *Zones {
	byName := map[string]*nodelifecycle.Node{}
	for i := range nodes {
		byName[nodes[i].Name] = &nodes[i]
	}
	zones, allUnready := nodelifecycle.ComputeZones(nodes, o, now)
	out := &Zones{AllUnready: allUnready, Zones: []Zone{}}
	for i := range zones {
		z := &zones[i]
		zone := Zone{Name: z.Name, State: z.State.String(), Nodes: z.Nodes, Ready: z.Ready, TaintIntervalSeconds: z.TaintInterval.Seconds(), LastTaint: z.LastTainted}
		if z.TaintInterval == 0 {
			zone.Reason = noRateReason(z, o, allUnready)
		}
		for _, name := range z.Tainted {
			zone.UnreadyNodes = append(zone.UnreadyNodes, newUnreadyNode(byName[name]))
		}
		for p, queued := range z.Queue {
			n := newUnreadyNode(byName[queued.Node])
			n.QueuePosition, n.TaintAt = p+1, queued.TaintAt
			zone.UnreadyNodes = append(zone.UnreadyNodes, n)
		}
		out.Zones = append(out.Zones, zone)
	}
	return out
}

func newUnreadyNode(n *nodelifecycle.Node) UnreadyNode {
	c := n.Condition(nodelifecycle.Ready)
	out := UnreadyNode{Name: n.Name, Ready: c.Status.String(), Since: c.Transition}
	if t := n.NoExecuteTaint(); t != nil {
		out.Tainted = t.Added
	}
	return out
}

// noRateReason returns the reason for which no node of a zone is tainted.
func noRateReason(z *nodelifecycle.Zone, o nodelifecycle.Options, allUnready bool) string {
	switch {
	case allUnready:
		return "no zone has a ready node"
	case z.State == nodelifecycle.PartialDisruption && z.Nodes <= o.LargeZone:
		return fmt.Sprintf("%d nodes or fewer, and %.0f %% or more are not ready", o.LargeZone, 100*o.UnhealthyFactor)
	}
	return "the rate is 0"
}

// ZonesText writes zones and their unready nodes as tables.
func ZonesText(w io.Writer, zones *Zones, o TextOptions) error {
	var b strings.Builder
	if zones.AllUnready {
		b.WriteString("No zone has a ready node: no node is tainted and no pod evicted.\n")
	}
	zoneTable := table.New(table.Columns("ZONE", "STATE", "READY", "TAINTED", "QUEUED", "RATE"), table.WideColumns("LAST TAINT"))
	nodeTable := table.New(table.Columns("UNREADY NODE", "ZONE", "READY", "FOR", "NOEXECUTE TAINT"), table.WideColumns("SINCE", "TAINT AT"))
	unready := 0
	for i := range zones.Zones {
		z := &zones.Zones[i]
		tainted := 0
		for _, n := range z.UnreadyNodes {
			taintTime := n.TaintAt
			if n.QueuePosition == 0 {
				tainted++
				taintTime = n.Tainted
			}
			nodeTable.AddRow(n.Name, zoneName(z), n.Ready, ageOf(o.Now, n.Since), taintTimeText(&n, o.Now), timeOrDash(n.Since), timeOrDash(taintTime))
		}
		unready += len(z.UnreadyNodes)
		zoneTable.AddRow(zoneName(z), z.State, fmt.Sprintf("%d of %d", z.Ready, z.Nodes), fmt.Sprint(tainted), fmt.Sprint(len(z.UnreadyNodes)-tainted), rateText(z), timeOrDash(z.LastTaint))
	}
	_ = zoneTable.Write(&b, o.Wide)
	if unready > 0 {
		b.WriteString("\n")
		_ = nodeTable.Write(&b, o.Wide)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func timeOrDash(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format(time.RFC3339)
}

func zoneName(z *Zone) string {
	if z.Name == "" {
		return "(no zone)"
	}
	return z.Name
}

func rateText(z *Zone) string {
	if z.TaintIntervalSeconds == 0 {
		return "none: " + z.Reason
	}
	return fmt.Sprintf("1 node per %v", time.Duration(z.TaintIntervalSeconds*float64(time.Second)))
}

func taintTimeText(n *UnreadyNode, now time.Time) string {
	switch {
	case n.QueuePosition == 0 && n.Tainted.IsZero():
		return "present"
	case n.QueuePosition == 0:
		return "for " + ageOf(now, n.Tainted)
	case n.TaintAt.IsZero():
		return fmt.Sprintf("position %d, not before the rate changes", n.QueuePosition)
	case !n.TaintAt.After(now):
		return fmt.Sprintf("position %d, now", n.QueuePosition)
	}
	return fmt.Sprintf("position %d, in %s", n.QueuePosition, ageOf(n.TaintAt, now))
}
