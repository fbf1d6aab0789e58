package explain

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/order"
)

// maxRows is the maximum number of best nodes in the score table.
const maxRows = 10

// writeScores writes the scores of the best nodes and of the node of the pod.
func writeScores(b *strings.Builder, rec *decision.Record, node string) {
	var rows []*decision.NodeRecord
	var plugins []decision.Plugin
	for i := range rec.Nodes {
		n := &rec.Nodes[i]
		if !n.Verdict.IsSuccess() {
			continue
		}
		rows = append(rows, n)
		for _, s := range n.Scores {
			if !slices.Contains(plugins, s.Plugin) {
				plugins = append(plugins, s.Plugin)
			}
		}
	}
	if len(rows) == 0 || len(plugins) == 0 {
		return
	}
	slices.Sort(plugins)
	slices.SortStableFunc(rows, func(x, y *decision.NodeRecord) int {
		return cmp.Or(cmp.Compare(y.Total, x.Total), order.TrueFirst(x.Name == rec.Choice, y.Name == rec.Choice), cmp.Compare(x.Name, y.Name))
	})
	b.WriteString("\n")
	t := tabwriter.NewWriter(b, 0, 8, 2, ' ', 0)
	fmt.Fprint(t, "NODE\tTOTAL")
	for _, p := range plugins {
		fmt.Fprint(t, "\t"+p.String())
	}
	fmt.Fprintln(t)
	remaining := 0
	for i, n := range rows {
		if i >= maxRows && n.Name != node {
			remaining++
			continue
		}
		writeScoreRow(t, n, plugins, rec.Choice, node)
	}
	_ = t.Flush()
	if remaining > 0 {
		fmt.Fprintf(b, "and %s with a lower total\n", nodeCountText(remaining))
	}
	b.WriteString("* best")
	if len(rec.Top) > 1 {
		fmt.Fprintf(b, "; %d nodes have the same total; the seed breaks the tie", len(rec.Top))
	}
	b.WriteString("\n")
}

func writeScoreRow(w io.Writer, n *decision.NodeRecord, plugins []decision.Plugin, choice, node string) {
	suffix := ""
	if n.Name == choice {
		suffix = " *"
	}
	if n.Name == node {
		suffix += " (here)"
	}
	fmt.Fprintf(w, "%s%s\t%d", n.Name, suffix, n.Total)
	for _, p := range plugins {
		points := int64(0)
		for _, s := range n.Scores {
			if s.Plugin == p {
				points = s.Points
			}
		}
		fmt.Fprintf(w, "\t%d", points)
	}
	fmt.Fprintln(w)
}
