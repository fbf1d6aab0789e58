package explain

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/berthproject/berth/engine/decision"
)

// maxRows is how many nodes of the score table a text shows.
const maxRows = 10

// scores is the table of the best nodes, and of the one that the pod is on.
func scores(b *strings.Builder, rec *decision.Record, node string) {
	var rows []*decision.NodeRecord
	var rules []decision.Rule
	for i := range rec.Nodes {
		n := &rec.Nodes[i]
		if !n.Verdict.Fits() {
			continue
		}
		rows = append(rows, n)
		for _, s := range n.Scores {
			if !slices.Contains(rules, s.Rule) {
				rules = append(rules, s.Rule)
			}
		}
	}
	if len(rows) == 0 || len(rules) == 0 {
		return
	}
	slices.Sort(rules)
	slices.SortStableFunc(rows, func(x, y *decision.NodeRecord) int {
		return cmp.Or(cmp.Compare(y.Total, x.Total), first(y.Name == rec.Choice, x.Name == rec.Choice), cmp.Compare(x.Name, y.Name))
	})
	b.WriteString("\n")
	t := tabwriter.NewWriter(b, 0, 8, 2, ' ', 0)
	fmt.Fprint(t, "NODE\tTOTAL")
	for _, r := range rules {
		fmt.Fprint(t, "\t"+r.String())
	}
	fmt.Fprintln(t)
	left := 0
	for i, n := range rows {
		if i >= maxRows && n.Name != node {
			left++
			continue
		}
		row(t, n, rules, rec.Choice, node)
	}
	_ = t.Flush()
	if left > 0 {
		fmt.Fprintf(b, "and %s with less\n", nodesWord(left))
	}
	b.WriteString("* best")
	if len(rec.Top) > 1 {
		fmt.Fprintf(b, "; %d nodes have the same total, the seed decides among them", len(rec.Top))
	}
	b.WriteString("\n")
}

func first(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

func row(w io.Writer, n *decision.NodeRecord, rules []decision.Rule, choice, node string) {
	mark := ""
	if n.Name == choice {
		mark = " *"
	}
	if n.Name == node {
		mark += " (here)"
	}
	fmt.Fprintf(w, "%s%s\t%d", n.Name, mark, n.Total)
	for _, r := range rules {
		points := int64(0)
		for _, s := range n.Scores {
			if s.Rule == r {
				points = s.Points
			}
		}
		fmt.Fprintf(w, "\t%d", points)
	}
	fmt.Fprintln(w)
}
