package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/order"
	"github.com/berthproject/berth/internal/table"
)

// maxRows is the maximum number of best nodes in the score table.
const maxRows = 10

// writeScores writes the scores of the best nodes and of the node of the pod. Plugins that give all of them the same
// score are in one line below the table.
func writeScores(b *strings.Builder, rec *decision.Record, node string) {
	var rows []*decision.NodeRecord
	for i := range rec.Nodes {
		if n := &rec.Nodes[i]; n.Verdict.IsSuccess() {
			rows = append(rows, n)
		}
	}
	slices.SortStableFunc(rows, func(x, y *decision.NodeRecord) int {
		return cmp.Or(cmp.Compare(y.Total, x.Total), order.TrueFirst(x.Name == rec.Choice, y.Name == rec.Choice), cmp.Compare(x.Name, y.Name))
	})
	lower := len(rows)
	for i, n := range slices.Backward(rows) {
		if i >= maxRows && n.Name != node {
			rows = slices.Delete(rows, i, i+1)
		}
	}
	lower -= len(rows)
	plugins, equal := scoringPlugins(rows)
	if len(plugins)+len(equal) == 0 {
		return
	}
	b.WriteString("\n")
	t := table.New(table.Columns("NODE", "TOTAL", "SCORES"), nil)
	for _, n := range rows {
		t.AddRow(nodeMark(n, rec.Choice, node), fmt.Sprint(n.Total), scoreText(n, plugins))
	}
	_ = t.Write(b, false)
	if len(equal) > 0 && len(plugins) > 0 {
		fmt.Fprintf(b, "equal scores: %s\n", scoreText(rows[0], equal))
	}
	if lower > 0 {
		fmt.Fprintf(b, "and %s with a lower total\n", nodeCountText(lower))
	}
	b.WriteString("* best")
	if len(rec.Top) > 1 {
		fmt.Fprintf(b, "; %d nodes have the same total; the seed breaks the tie", len(rec.Top))
	}
	b.WriteString("\n")
}

// scoringPlugins returns the plugins whose scores differ between the nodes, and those whose scores are equal. If none
// differ, it returns all as the first.
func scoringPlugins(nodes []*decision.NodeRecord) (different, equal []decision.Plugin) {
	for _, n := range nodes {
		for _, s := range n.Scores {
			if !slices.Contains(different, s.Plugin) {
				different = append(different, s.Plugin)
			}
		}
	}
	slices.Sort(different)
	all := slices.Clone(different)
	different = slices.DeleteFunc(different, func(p decision.Plugin) bool {
		return !slices.ContainsFunc(nodes, func(n *decision.NodeRecord) bool { return points(n, p) != points(nodes[0], p) })
	})
	if len(different) == 0 {
		return all, nil
	}
	return different, slices.DeleteFunc(all, func(p decision.Plugin) bool { return slices.Contains(different, p) })
}

func points(n *decision.NodeRecord, p decision.Plugin) int64 {
	for _, s := range n.Scores {
		if s.Plugin == p {
			return s.Points
		}
	}
	return 0
}

// nodeMark returns the name of a node, marked if it is the choice or the node of the pod.
func nodeMark(n *decision.NodeRecord, choice, node string) string {
	name := n.Name
	if name == choice {
		name += " *"
	}
	if n.Name == node {
		name += " (here)"
	}
	return name
}

func scoreText(n *decision.NodeRecord, plugins []decision.Plugin) string {
	parts := make([]string, len(plugins))
	for i, p := range plugins {
		parts[i] = fmt.Sprintf("%s %d", p, points(n, p))
	}
	return strings.Join(parts, ", ")
}
