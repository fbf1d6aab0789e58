package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/berthproject/berth/engine/decision"
)

// group is nodes that one rule refuses for reasons of one shape: the same kinds
// of reasons about the same things, with numbers of their own.
type group struct {
	rule    decision.Rule
	records []*decision.NodeRecord // nearest to fitting first
}

// groups brings refused nodes together, by rule, then the nearest first.
func groups(nodes []decision.NodeRecord) []group {
	at := map[string]int{}
	var out []group
	for i := range nodes {
		n := &nodes[i]
		if n.Verdict.Fits() {
			continue
		}
		k := shape(&n.Verdict)
		j, known := at[k]
		if !known {
			j = len(out)
			at[k] = j
			out = append(out, group{rule: n.Verdict.Rule})
		}
		out[j].records = append(out[j].records, n)
	}
	for i := range out {
		slices.SortStableFunc(out[i].records, func(a, b *decision.NodeRecord) int {
			return cmp.Or(cmp.Compare(shortage(&a.Verdict), shortage(&b.Verdict)), cmp.Compare(a.Name, b.Name))
		})
	}
	slices.SortStableFunc(out, func(a, b group) int {
		return cmp.Or(cmp.Compare(a.rule, b.rule), cmp.Compare(shortage(&a.records[0].Verdict), shortage(&b.records[0].Verdict)),
			len(b.records)-len(a.records), cmp.Compare(a.records[0].Name, b.records[0].Name))
	})
	return out
}

// shape tells verdicts apart by all but numbers and names of pods.
func shape(v *decision.Verdict) string {
	var b strings.Builder
	fmt.Fprint(&b, v.Rule, v.Code)
	for i := range v.Reasons {
		r := &v.Reasons[i]
		fmt.Fprint(&b, "|", r.Why, r.Subject, never(r))
	}
	return b.String()
}

// never says that a reason cannot be helped by pods' leaving.
func never(r *decision.Reason) bool { return r.Why == decision.WhyInsufficient && r.Want > r.Have }

// alike says that all nodes of the group have the same words.
func (g *group) alike() bool {
	first := verdictWords(&g.records[0].Verdict)
	return !slices.ContainsFunc(g.records, func(n *decision.NodeRecord) bool { return verdictWords(&n.Verdict) != first })
}

// words sums up a group's reasons, with ranges where numbers differ.
func (g *group) words() string {
	if g.alike() {
		return verdictWords(&g.records[0].Verdict)
	}
	parts := make([]string, len(g.records[0].Verdict.Reasons))
	for i := range parts {
		parts[i] = g.reason(i)
	}
	return strings.Join(parts, "; ")
}

// reason sums up reason number i of all nodes.
func (g *group) reason(i int) string {
	r := &g.records[0].Verdict.Reasons[i]
	of := func(f func(r *decision.Reason) int64) (lo, hi int64) {
		lo = f(r)
		hi = lo
		for _, n := range g.records {
			v := f(&n.Verdict.Reasons[i])
			lo, hi = min(lo, v), max(hi, v)
		}
		return lo, hi
	}
	switch {
	case never(r):
		lo, hi := of(func(r *decision.Reason) int64 { return r.Have })
		least, most := of(func(r *decision.Reason) int64 { return r.Want })
		return fmt.Sprintf("%s can never fit: requests %s, the nodes have %s in all", r.Subject, span(r.Subject, least, most), span(r.Subject, lo, hi))
	case r.Why == decision.WhyInsufficient:
		lo, hi := of(func(r *decision.Reason) int64 { return r.Want - (r.Have - r.Used) })
		least, most := of(func(r *decision.Reason) int64 { return r.Want }) // of several pods on one node
		return fmt.Sprintf("need %s more %s (requests %s)", span(r.Subject, lo, hi), r.Subject, span(r.Subject, least, most))
	case r.Why == decision.WhyTooManyPods:
		lo, hi := of(func(r *decision.Reason) int64 { return r.Have })
		return fmt.Sprintf("run the %s pods that they may, or more", span("", lo, hi))
	case r.Why == decision.WhySpread:
		lo, hi := of(func(r *decision.Reason) int64 { return r.Used })
		return fmt.Sprintf("%s: %s matching pods there, the least elsewhere is %d, maxSkew %d", r.Subject, span("", lo, hi), r.Have, r.Want)
	}
	var who []string
	for _, n := range g.records {
		if w := n.Verdict.Reasons[i].Who; w != "" && !slices.Contains(who, w) {
			who = append(who, w)
		}
	}
	bare := *r
	if bare.Who = ""; len(who) > 0 {
		bare.Who = few(who, 3)
	}
	return Why(&bare)
}

func span(resource string, lo, hi int64) string {
	if lo == hi {
		return Amount(resource, lo)
	}
	if resource == "cpu" && (lo%1000 != 0 || hi%1000 != 0) { // one unit for both
		return fmt.Sprintf("%dm to %dm", lo, hi)
	}
	return Amount(resource, lo) + " to " + Amount(resource, hi)
}

// few are names, or the first of them and how many more there are.
func few(names []string, most int) string {
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}
