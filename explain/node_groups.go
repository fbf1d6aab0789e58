package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/berthproject/berth/engine/decision"
)

// nodeGroup holds the nodes that one plugin rejects for equal reasons with different numbers.
type nodeGroup struct {
	plugin  decision.Plugin
	records []*decision.NodeRecord // smallest shortage first
}

// groupNodes groups rejected nodes by plugin, then by shortage.
func groupNodes(nodes []decision.NodeRecord) []nodeGroup {
	indexes := map[string]int{}
	var out []nodeGroup
	for i := range nodes {
		n := &nodes[i]
		if n.Verdict.IsSuccess() {
			continue
		}
		k := verdictKey(&n.Verdict)
		j, ok := indexes[k]
		if !ok {
			j = len(out)
			indexes[k] = j
			out = append(out, nodeGroup{plugin: n.Verdict.Plugin})
		}
		out[j].records = append(out[j].records, n)
	}
	for i := range out {
		slices.SortStableFunc(out[i].records, func(a, b *decision.NodeRecord) int {
			return cmp.Or(cmp.Compare(shortage(&a.Verdict), shortage(&b.Verdict)), cmp.Compare(a.Name, b.Name))
		})
	}
	slices.SortStableFunc(out, func(a, b nodeGroup) int {
		return cmp.Or(cmp.Compare(a.plugin, b.plugin), cmp.Compare(shortage(&a.records[0].Verdict), shortage(&b.records[0].Verdict)),
			len(b.records)-len(a.records), cmp.Compare(a.records[0].Name, b.records[0].Name))
	})
	return out
}

// verdictKey returns a key of a verdict without numbers or pod names.
func verdictKey(v *decision.Verdict) string {
	var b strings.Builder
	fmt.Fprint(&b, v.Plugin, v.Code)
	for i := range v.Reasons {
		r := &v.Reasons[i]
		fmt.Fprint(&b, "|", r.Kind, r.Subject, isUnresolvable(r))
	}
	return b.String()
}

// isUnresolvable reports whether removing pods cannot resolve a reason.
func isUnresolvable(r *decision.Reason) bool {
	return r.Kind == decision.ReasonInsufficient && r.Want > r.Have
}

// hasEqualText reports whether all nodes of the group have the same text.
func (g *nodeGroup) hasEqualText() bool {
	first := verdictText(&g.records[0].Verdict)
	return !slices.ContainsFunc(g.records, func(n *decision.NodeRecord) bool { return verdictText(&n.Verdict) != first })
}

// text summarizes the reasons of a group, with ranges for different numbers.
func (g *nodeGroup) text() string {
	if g.hasEqualText() {
		return verdictText(&g.records[0].Verdict)
	}
	parts := make([]string, len(g.records[0].Verdict.Reasons))
	for i := range parts {
		parts[i] = g.reasonText(i)
	}
	return strings.Join(parts, "; ")
}

// reasonText summarizes the i-th reason of all nodes.
func (g *nodeGroup) reasonText(i int) string {
	r := &g.records[0].Verdict.Reasons[i]
	bounds := func(f func(r *decision.Reason) int64) (lo, hi int64) {
		lo = f(r)
		hi = lo
		for _, n := range g.records {
			v := f(&n.Verdict.Reasons[i])
			lo, hi = min(lo, v), max(hi, v)
		}
		return lo, hi
	}
	switch {
	case isUnresolvable(r):
		lo, hi := bounds(func(r *decision.Reason) int64 { return r.Have })
		minWant, maxWant := bounds(func(r *decision.Reason) int64 { return r.Want })
		return fmt.Sprintf("%s can never fit: requests %s, the nodes have %s in all", r.Subject, formatRange(r.Subject, minWant, maxWant), formatRange(r.Subject, lo, hi))
	case r.Kind == decision.ReasonInsufficient:
		lo, hi := bounds(func(r *decision.Reason) int64 { return r.Want - (r.Have - r.Used) })
		minWant, maxWant := bounds(func(r *decision.Reason) int64 { return r.Want }) // differs between pods on one node
		return fmt.Sprintf("need %s more %s (requests %s)", formatRange(r.Subject, lo, hi), r.Subject, formatRange(r.Subject, minWant, maxWant))
	case r.Kind == decision.ReasonTooManyPods:
		lo, hi := bounds(func(r *decision.Reason) int64 { return r.Have })
		return fmt.Sprintf("already run the maximum of %s pods or more", formatRange("", lo, hi))
	case r.Kind == decision.ReasonTopologySpread:
		lo, hi := bounds(func(r *decision.Reason) int64 { return r.Used })
		return fmt.Sprintf("%s: %s matching pods there, the minimum is %d, maxSkew %d", r.Subject, formatRange("", lo, hi), r.Have, r.Want)
	}
	var objects []string
	for _, n := range g.records {
		if object := n.Verdict.Reasons[i].Object; object != "" && !slices.Contains(objects, object) {
			objects = append(objects, object)
		}
	}
	withoutObject := *r
	if withoutObject.Object = ""; len(objects) > 0 {
		withoutObject.Object = abbreviate(objects, 3)
	}
	return ReasonText(&withoutObject)
}

func formatRange(resource string, lo, hi int64) string {
	if lo == hi {
		return FormatQuantity(resource, lo)
	}
	if resource == "cpu" && (lo%1000 != 0 || hi%1000 != 0) { // use one unit for both
		return fmt.Sprintf("%dm to %dm", lo, hi)
	}
	return FormatQuantity(resource, lo) + " to " + FormatQuantity(resource, hi)
}

// abbreviate joins up to limit names and counts the others.
func abbreviate(names []string, limit int) string {
	if len(names) <= limit {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:limit], ", "), len(names)-limit)
}
