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

// How much a text shows before it says "and N more".
const (
	maxWhys  = 6  // different reasons under a rule
	maxNames = 6  // nodes with one reason
	maxRows  = 10 // nodes of the score table
)

// Pod writes a decision for a person: what came of it, then per rule which nodes
// it rejected and by how much, nearest misses first, then the scores. node is
// where the pod is bound, empty while it waits.
func Pod(w io.Writer, rec *decision.Record, node string) error {
	var b strings.Builder
	b.WriteString("pod " + rec.Pod)
	if node != "" {
		b.WriteString(", bound to " + node)
	}
	b.WriteString("\n")
	b.WriteString(headline(rec) + "\n")
	rejections(&b, rec)
	scores(&b, rec, node)
	_, err := io.WriteString(w, b.String())
	return err
}

// headline is the outcome in a line.
func headline(rec *decision.Record) string {
	switch rec.Outcome {
	case decision.Gated:
		return "gated: " + decision.Texts(rec.PreEnqueue.Reasons) + " (" + rec.PreEnqueue.Rule.String() + ")"
	case decision.Ignored:
		return "ignored: it is not for the profile " + rec.Profile + ", or has finished"
	case decision.Skipped:
		return "skipped: it is being deleted"
	case decision.Errored:
		return "error: " + rec.Error
	}
	if rec.PreFilter != nil {
		by := ""
		if rec.PreFilter.Rule != decision.NoRule {
			by = " (" + rec.PreFilter.Rule.String() + ")"
		}
		return "unschedulable on any node: " + decision.Texts(rec.PreFilter.Reasons) + by
	}
	fit := 0
	for i := range rec.Nodes {
		if rec.Nodes[i].Verdict.Fits() {
			fit++
		}
	}
	switch {
	case rec.NominatedFirst:
		return "fits its nominated node " + rec.Choice + ", so no other was looked at"
	case fit == 0:
		return fmt.Sprintf("unschedulable: fits 0 of %d nodes", len(rec.Nodes))
	}
	return fmt.Sprintf("fits %d of %d nodes, best %s", fit, len(rec.Nodes), rec.Choice)
}

// group is nodes rejected by one rule for the same words.
type group struct {
	words string
	nodes []string
	near  float64
}

func rejections(b *strings.Builder, rec *decision.Record) {
	byRule := map[decision.Rule][]group{}
	count := map[decision.Rule]int{}
	var rules []decision.Rule
	for i := range rec.Nodes {
		n := &rec.Nodes[i]
		if n.Verdict.Fits() {
			continue
		}
		rule := n.Verdict.Rule
		if count[rule]++; count[rule] == 1 {
			rules = append(rules, rule)
		}
		words := verdictWords(&n.Verdict)
		gs := byRule[rule]
		j := slices.IndexFunc(gs, func(g group) bool { return g.words == words })
		if j < 0 {
			j = len(gs)
			gs = append(gs, group{words: words, near: shortage(&n.Verdict)})
		}
		gs[j].nodes = append(gs[j].nodes, n.Name)
		byRule[rule] = gs
	}
	slices.Sort(rules)
	for _, rule := range rules {
		gs := byRule[rule]
		slices.SortStableFunc(gs, func(a, b group) int {
			return cmp.Or(cmp.Compare(a.near, b.near), len(b.nodes)-len(a.nodes), cmp.Compare(a.nodes[0], b.nodes[0]))
		})
		fmt.Fprintf(b, "\n%s rejects %s\n", ruleWord(rule), nodesWord(count[rule]))
		for i, g := range gs {
			if i == maxWhys {
				rest := 0
				for _, g := range gs[i:] {
					rest += len(g.nodes)
				}
				fmt.Fprintf(b, "  and %s for %d more reasons (-o json has all)\n", nodesWord(rest), len(gs)-i)
				break
			}
			fmt.Fprintf(b, "  %s: %s\n", names(g.nodes), g.words)
		}
	}
}

func ruleWord(r decision.Rule) string {
	if r == decision.PreFilterResult {
		return "The pod's own choice of nodes"
	}
	return r.String()
}

func verdictWords(v *decision.Verdict) string {
	if v.Rule == decision.PreFilterResult {
		return "not among the nodes that it names"
	}
	words := make([]string, len(v.Reasons))
	for i := range v.Reasons {
		words[i] = Why(&v.Reasons[i])
	}
	return strings.Join(words, "; ")
}

func names(nodes []string) string {
	if len(nodes) <= maxNames {
		return strings.Join(nodes, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(nodes[:maxNames], ", "), len(nodes)-maxNames)
}

func nodesWord(n int) string {
	if n == 1 {
		return "1 node"
	}
	return fmt.Sprintf("%d nodes", n)
}

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
