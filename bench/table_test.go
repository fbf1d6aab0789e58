package bench

import (
	"fmt"
	"testing"
)

var commonKinds = []podKind{plainKind, affinityKind, antiHostKind, zoneKind, hardKind, defaultKind}

// row is a line of the table: how many shapes of which kinds.
type row struct {
	name   string
	shapes int
	kinds  []podKind
}

func table() []row {
	var rows []row
	for _, k := range append(commonKinds[:len(commonKinds):len(commonKinds)], hugeKind) {
		rows = append(rows, row{k.name, 1, []podKind{k}})
	}
	return append(rows, row{"100 shapes in turn", 100, commonKinds}, row{"1000 shapes in turn", 1000, commonKinds},
		row{"1000 shapes of 1000 sizes in turn", 1000, withOwnSizes(commonKinds)},
		row{"100 shapes, each 6th unschedulable", 100, []podKind{plainKind, affinityKind, antiHostKind, hardKind, defaultKind, hugeKind}})
}

// samples is how many decisions are timed: as many as asked for, but no more than
// a large cluster can take in bearable time.
func samples(asked, nodes int) int { return max(min(asked, 20000, 200_000_000/nodes), 100) }

// BenchmarkDecision is the table: what a decision alone costs.
func BenchmarkDecision(b *testing.B) {
	for _, nodes := range []int{500, 5000, 50000} {
		for _, churn := range []string{"", ", churn"} {
			for _, r := range table() {
				b.Run(fmt.Sprintf("nodes=%d/%s%s", nodes, r.name, churn), func(b *testing.B) {
					c := newBench(b, nodes, r.shapes, churn != "", r.kinds...)
					c.measure(b, samples(b.N, nodes)).report(b)
					seen := c.engine.Counters()
					b.ReportMetric(100*float64(seen.Cached)/float64(seen.Cached+seen.Scanned+seen.Reference), "%-by-views")
					_, bytes := c.engine.CacheSize()
					b.ReportMetric(float64(bytes)/1e6, "MB-views")
				})
			}
		}
	}
}

// BenchmarkFirstDecision is what a decision about a pod of a shape never seen before
// costs, in a cluster of as many pods as nodes.
func BenchmarkFirstDecision(b *testing.B) {
	for _, nodes := range []int{500, 5000, 50000} {
		for _, k := range append(commonKinds[:len(commonKinds):len(commonKinds)], withOwnSizes(commonKinds)...) {
			b.Run(fmt.Sprintf("nodes=%d/%s", nodes, k.name), func(b *testing.B) {
				measureFirstDecision(b, nodes, min(b.N, 300), k).report(b)
			})
		}
	}
}
