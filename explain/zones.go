package explain

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/berthproject/berth/engine/nodehealth"
)

// Zones are the failure domains of a cluster, and which of their nodes are lost.
type Zones struct {
	// AllLost: no zone has a ready node, so no pod is driven out of any node.
	AllLost bool   `json:"allLost"`
	Zones   []Zone `json:"zones"`
}

// Zone is a failure domain.
type Zone struct {
	Name  string `json:"name"` // region/zone; empty: nodes without such labels
	State string `json:"state"`
	Nodes int    `json:"nodes"` // that count for its state
	Ready int    `json:"ready"`
	// EverySeconds is how often a lost node gets its NoExecute taint; 0: never, because of Why.
	EverySeconds float64    `json:"everySeconds"`
	Why          string     `json:"why,omitempty"`
	Last         time.Time  `json:"lastTaint,omitzero"`
	Lost         []LostNode `json:"lost,omitempty"`
}

// LostNode is a node that is not ready: it has its taint, or a place in the line for it.
type LostNode struct {
	Name    string    `json:"name"`
	Ready   string    `json:"ready"` // status of its condition
	Since   time.Time `json:"since,omitzero"`
	Tainted time.Time `json:"tainted,omitzero"`
	Place   int       `json:"place,omitempty"` // 1: the next one
	Turn    time.Time `json:"turn,omitzero"`   // when it comes if nothing changes; none: never
}

// ZonesOf says how zones fare as their nodes tell.
func ZonesOf(nodes []nodehealth.Node, o nodehealth.Options, now time.Time) *Zones {
	byName := map[string]*nodehealth.Node{}
	for i := range nodes {
		byName[nodes[i].Name] = &nodes[i]
	}
	zones, all := nodehealth.Survey(nodes, o, now)
	out := &Zones{AllLost: all, Zones: []Zone{}}
	for i := range zones {
		z := &zones[i]
		to := Zone{Name: z.Name, State: z.State.String(), Nodes: z.Nodes, Ready: z.Ready, EverySeconds: z.Every.Seconds(), Last: z.Last}
		if z.Every == 0 {
			to.Why = noRate(z, o, all)
		}
		for _, name := range z.Tainted {
			to.Lost = append(to.Lost, lostNode(byName[name]))
		}
		for p, place := range z.Line {
			n := lostNode(byName[place.Node])
			n.Place, n.Turn = p+1, place.At
			to.Lost = append(to.Lost, n)
		}
		out.Zones = append(out.Zones, to)
	}
	return out
}

func lostNode(n *nodehealth.Node) LostNode {
	c := n.Condition(nodehealth.Ready)
	out := LostNode{Name: n.Name, Ready: c.Status.String(), Since: c.Transition}
	if t := n.Expelling(); t != nil {
		out.Tainted = t.Added
	}
	return out
}

// noRate is why no node of a zone is tainted.
func noRate(z *nodehealth.Zone, o nodehealth.Options, all bool) string {
	switch {
	case all:
		return "all zones are lost"
	case z.State == nodehealth.Partial && z.Nodes <= o.LargeZone:
		return fmt.Sprintf("%d nodes or fewer, and %.0f %% or more are lost", o.LargeZone, 100*o.UnhealthyFactor)
	}
	return "the rate is 0"
}

// ZonesText writes zones for a person.
func ZonesText(w io.Writer, zones *Zones, now time.Time) error {
	var b strings.Builder
	if zones.AllLost {
		b.WriteString("No zone has a ready node: no pod is driven out of any node.\n")
	}
	t := tabwriter.NewWriter(&b, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, "ZONE\tSTATE\tREADY\tTAINTED\tIN LINE\tRATE")
	lost := 0
	for i := range zones.Zones {
		z := &zones.Zones[i]
		tainted := 0
		for _, n := range z.Lost {
			if n.Place == 0 {
				tainted++
			}
		}
		lost += len(z.Lost)
		fmt.Fprintf(t, "%s\t%s\t%d of %d\t%d\t%d\t%s\n", nameOf(z), z.State, z.Ready, z.Nodes, tainted, len(z.Lost)-tainted, rateOf(z))
	}
	_ = t.Flush()
	if lost > 0 {
		b.WriteString("\n")
		fmt.Fprintln(t, "LOST NODE\tZONE\tREADY\tFOR\tNOEXECUTE TAINT")
		for i := range zones.Zones {
			z := &zones.Zones[i]
			for _, n := range z.Lost {
				fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", n.Name, nameOf(z), n.Ready, ageOf(now, n.Since), turnOf(&n, now))
			}
		}
		_ = t.Flush()
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func nameOf(z *Zone) string {
	if z.Name == "" {
		return "(no zone)"
	}
	return z.Name
}

func rateOf(z *Zone) string {
	if z.EverySeconds == 0 {
		return "none: " + z.Why
	}
	return fmt.Sprintf("a node in %v", time.Duration(z.EverySeconds*float64(time.Second)))
}

func turnOf(n *LostNode, now time.Time) string {
	switch {
	case n.Place == 0 && n.Tainted.IsZero():
		return "it has it"
	case n.Place == 0:
		return "for " + ageOf(now, n.Tainted)
	case n.Turn.IsZero():
		return fmt.Sprintf("place %d, not before the rate changes", n.Place)
	case !n.Turn.After(now):
		return fmt.Sprintf("place %d, now", n.Place)
	}
	return fmt.Sprintf("place %d, in %s", n.Place, ageOf(n.Turn, now))
}

// ZonesJSON is zones as JSON.
func ZonesJSON(zones *Zones) ([]byte, error) { return json.MarshalIndent(zones, "", "  ") }
