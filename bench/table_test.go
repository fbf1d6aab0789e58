package bench

import (
	"fmt"
	"testing"
)

var commonKinds = []podKind{plainKind, affinityKind, antiHostKind, zoneKind, hardKind, defaultKind}

// row is a row of the table.
type row struct {
	name  string
	apps  int       // number of apps
	kinds []podKind // of the apps, alternating
}

// table returns the rows of the table in docs/performance/decisions.md.
func table() []row {
	var rows []row
	for _, k := range append(commonKinds[:len(commonKinds):len(commonKinds)], hugeKind) {
		rows = append(rows, row{k.name, 1, []podKind{k}})
	}
	return append(rows, row{"100 classes in turn", 100, commonKinds}, row{"1000 classes in turn", 1000, commonKinds},
		row{"1000 classes of 1000 sizes in turn", 1000, withPodSizePerApp(commonKinds)},
		row{"100 classes, each 6th unschedulable", 100, []podKind{plainKind, affinityKind, antiHostKind, hardKind, defaultKind, hugeKind}})
}

// samples returns the number of decisions to time: at least 100, and at most the requested number. It is
// smaller for a large cluster, to limit the total time.
func samples(requested, nodes int) int { return max(min(requested, 20000, 200_000_000/nodes), 100) }

// BenchmarkDecision measures the decision alone for each row of the table.
func BenchmarkDecision(b *testing.B) {
	for _, nodes := range []int{500, 5000, 50000} {
		for _, churn := range []string{"", ", churn"} {
			for _, r := range table() {
				b.Run(fmt.Sprintf("nodes=%d/%s%s", nodes, r.name, churn), func(b *testing.B) {
					c := newBench(b, nodes, r.apps, churn != "", r.kinds...)
					c.measure(b, samples(b.N, nodes)).report(b)
					counters := c.engine.Counters()
					b.ReportMetric(100*float64(counters.Cached)/float64(counters.Cached+counters.Scanned+counters.Reference), "%-cached")
					_, bytes := c.engine.CacheSize()
					b.ReportMetric(float64(bytes)/1e6, "MB-caches")
				})
			}
		}
	}
}

// BenchmarkFirstDecision measures a decision about a pod of a new equivalence class, in a cluster
// with as many pods as nodes.
func BenchmarkFirstDecision(b *testing.B) {
	for _, nodes := range []int{500, 5000, 50000} {
		for _, k := range append(commonKinds[:len(commonKinds):len(commonKinds)], withPodSizePerApp(commonKinds)...) {
			b.Run(fmt.Sprintf("nodes=%d/%s", nodes, k.name), func(b *testing.B) {
				measureFirstDecision(b, nodes, min(b.N, 300), k).report(b)
			})
		}
	}
}
