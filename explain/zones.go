package explain

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/berthproject/berth/engine/nodelifecycle"
)

// Zones are the failure domains of a cluster with their unready nodes.
type Zones struct {
	// AllUnready: no zone has a ready node, so no node is tainted.
	AllUnready bool   `json:"allLost"`
	Zones      []Zone `json:"zones"`
}

// Zone is a failure domain.
type Zone struct {
	Name  string `json:"name"` // region/zone; empty: nodes without such labels
	State string `json:"state"`
	Nodes int    `json:"nodes"` // nodes that count for the state
	Ready int    `json:"ready"`
	// EverySeconds is the interval of NoExecute taints; 0: no taints, for Reason.
	EverySeconds float64       `json:"everySeconds"`
	Reason       string        `json:"why,omitempty"`
	LastTaint    time.Time     `json:"lastTaint,omitzero"`
	UnreadyNodes []UnreadyNode `json:"lost,omitempty"`
}

// UnreadyNode is a node that is not ready: it has a NoExecute taint, or waits for it.
type UnreadyNode struct {
	Name          string    `json:"name"`
	Ready         string    `json:"ready"` // status of the Ready condition
	Since         time.Time `json:"since,omitzero"`
	Tainted       time.Time `json:"tainted,omitzero"`
	QueuePosition int       `json:"place,omitempty"` // 1: the next one
	TaintAt       time.Time `json:"turn,omitzero"`   // expected time; zero: never
}

// ZonesOf returns the zones of the nodes.
func ZonesOf(nodes []nodelifecycle.Node, o nodelifecycle.Options, now time.Time) *Zones {
	byName := map[string]*nodelifecycle.Node{}
	for i := range nodes {
		byName[nodes[i].Name] = &nodes[i]
	}
	zones, all := nodelifecycle.ComputeZones(nodes, o, now)
	out := &Zones{AllUnready: all, Zones: []Zone{}}
	for i := range zones {
		z := &zones[i]
		to := Zone{Name: z.Name, State: z.State.String(), Nodes: z.Nodes, Ready: z.Ready, EverySeconds: z.TaintInterval.Seconds(), LastTaint: z.LastTainted}
		if z.TaintInterval == 0 {
			to.Reason = noRateReason(z, o, all)
		}
		for _, name := range z.Tainted {
			to.UnreadyNodes = append(to.UnreadyNodes, newUnreadyNode(byName[name]))
		}
		for p, place := range z.Queue {
			n := newUnreadyNode(byName[place.Node])
			n.QueuePosition, n.TaintAt = p+1, place.TaintAt
			to.UnreadyNodes = append(to.UnreadyNodes, n)
		}
		out.Zones = append(out.Zones, to)
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

// noRateReason returns why no node of a zone is tainted.
func noRateReason(z *nodelifecycle.Zone, o nodelifecycle.Options, all bool) string {
	switch {
	case all:
		return "all zones are lost"
	case z.State == nodelifecycle.PartialDisruption && z.Nodes <= o.LargeZone:
		return fmt.Sprintf("%d nodes or fewer, and %.0f %% or more are lost", o.LargeZone, 100*o.UnhealthyFactor)
	}
	return "the rate is 0"
}

// ZonesText writes zones as a table.
func ZonesText(w io.Writer, zones *Zones, now time.Time) error {
	var b strings.Builder
	if zones.AllUnready {
		b.WriteString("No zone has a ready node: no pod is driven out of any node.\n")
	}
	t := tabwriter.NewWriter(&b, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, "ZONE\tSTATE\tREADY\tTAINTED\tIN LINE\tRATE")
	lost := 0
	for i := range zones.Zones {
		z := &zones.Zones[i]
		tainted := 0
		for _, n := range z.UnreadyNodes {
			if n.QueuePosition == 0 {
				tainted++
			}
		}
		lost += len(z.UnreadyNodes)
		fmt.Fprintf(t, "%s\t%s\t%d of %d\t%d\t%d\t%s\n", zoneName(z), z.State, z.Ready, z.Nodes, tainted, len(z.UnreadyNodes)-tainted, rateText(z))
	}
	_ = t.Flush()
	if lost > 0 {
		b.WriteString("\n")
		fmt.Fprintln(t, "LOST NODE\tZONE\tREADY\tFOR\tNOEXECUTE TAINT")
		for i := range zones.Zones {
			z := &zones.Zones[i]
			for _, n := range z.UnreadyNodes {
				fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", n.Name, zoneName(z), n.Ready, ageOf(now, n.Since), taintTimeText(&n, now))
			}
		}
		_ = t.Flush()
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func zoneName(z *Zone) string {
	if z.Name == "" {
		return "(no zone)"
	}
	return z.Name
}

func rateText(z *Zone) string {
	if z.EverySeconds == 0 {
		return "none: " + z.Reason
	}
	return fmt.Sprintf("a node in %v", time.Duration(z.EverySeconds*float64(time.Second)))
}

func taintTimeText(n *UnreadyNode, now time.Time) string {
	switch {
	case n.QueuePosition == 0 && n.Tainted.IsZero():
		return "it has it"
	case n.QueuePosition == 0:
		return "for " + ageOf(now, n.Tainted)
	case n.TaintAt.IsZero():
		return fmt.Sprintf("place %d, not before the rate changes", n.QueuePosition)
	case !n.TaintAt.After(now):
		return fmt.Sprintf("place %d, now", n.QueuePosition)
	}
	return fmt.Sprintf("place %d, in %s", n.QueuePosition, ageOf(n.TaintAt, now))
}

// ZonesJSON returns zones as JSON.
func ZonesJSON(zones *Zones) ([]byte, error) { return json.MarshalIndent(zones, "", "  ") }
