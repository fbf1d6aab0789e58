package explain

import (
	"fmt"
	"strings"

	"github.com/berthproject/berth/engine/decision"
)

// Limits of a text.
const (
	maxGroups  = 8 // groups per plugin
	maxNames   = 6 // nodes per reason
	maxNearest = 3 // nodes of a group with different numbers
)

// writeRejections writes the rejected nodes by plugin in groups, smallest shortage first.
// If all is set, it writes every node.
func writeRejections(b *strings.Builder, nodes []decision.NodeRecord, all bool) {
	groups := groupNodes(nodes)
	for i := 0; i < len(groups); {
		end, count := i, 0
		for ; end < len(groups) && groups[end].plugin == groups[i].plugin; end++ {
			count += len(groups[end].records)
		}
		fmt.Fprintf(b, "\n%s rejects %s\n", pluginText(groups[i].plugin), nodeCountText(count))
		shown := end
		if !all && end-i > maxGroups {
			shown = i + maxGroups
		}
		remaining := count
		for k := i; k < shown; k++ {
			remaining -= len(groups[k].records)
			groups[k].write(b, all)
		}
		if remaining > 0 {
			fmt.Fprintf(b, "  and %s for %d more reasons (--nodes shows all)\n", nodeCountText(remaining), end-shown)
		}
		i = end
	}
}

// write writes a group: one line if all nodes have the same text, otherwise a summary and
// the nodes with the smallest shortage.
func (g *nodeGroup) write(b *strings.Builder, all bool) {
	names := make([]string, len(g.records))
	for i, n := range g.records {
		names[i] = n.Name
	}
	if len(names) == 1 || g.hasEqualText() && !all {
		fmt.Fprintf(b, "  %s: %s\n", abbreviate(names, maxNames), g.text())
		return
	}
	fmt.Fprintf(b, "  %s: %s\n", nodeCountText(len(names)), g.text())
	for i, n := range g.records {
		if !all && i == maxNearest && len(names) > maxNearest+1 {
			fmt.Fprintf(b, "    and %d more with a larger shortage (--nodes shows all)\n", len(names)-maxNearest)
			break
		}
		fmt.Fprintf(b, "    %s: %s\n", n.Name, verdictText(&n.Verdict))
	}
}

func pluginText(plugin decision.Plugin) string {
	if plugin == decision.PreFilterResult {
		return "The pod's node names"
	}
	return plugin.String()
}

func verdictText(v *decision.Verdict) string {
	if v.Plugin == decision.PreFilterResult {
		return "not among the nodes that the pod names"
	}
	texts := make([]string, len(v.Reasons))
	for i := range v.Reasons {
		texts[i] = ReasonText(&v.Reasons[i])
	}
	return strings.Join(texts, "; ")
}

func nodeCountText(n int) string {
	if n == 1 {
		return "1 node"
	}
	return fmt.Sprintf("%d nodes", n)
}
