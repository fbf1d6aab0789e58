package bench

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
)

var everyday = []kind{plainKind, affinityKind, antiHostKind, zoneKind, hardKind, defaultKind}

// TestDecisions prints the table of decisions. It asserts nothing: times depend
// on the machine.
func TestDecisions(t *testing.T) {
	if !*run {
		t.Skip("measurements are made on request: -bench-decisions")
	}
	fmt.Printf("%-44s %8s%8s%8s%8s%8s%8s\n", "decision alone, us", "nodes", "p10", "median", "mean", "p99", "allocs")
	for _, text := range strings.Split(*sizes, ",") {
		nodes, err := strconv.Atoi(text)
		if err != nil {
			t.Fatalf("-bench-sizes: %q is no number", text)
		}
		for _, churn := range []bool{false, true} {
			for _, k := range append(everyday, hugeKind) {
				row(t, k.name, nodes, 1, churn, k)
			}
			row(t, "100 shapes, in turn", nodes, 100, churn, everyday...)
			row(t, "1000 shapes, in turn", nodes, 1000, churn, everyday...)
			row(t, "100 shapes, every 6th unschedulable", nodes, 100, churn, plainKind, affinityKind, antiHostKind, hardKind, defaultKind, hugeKind)
		}
		for _, k := range everyday {
			if name := "first sight: " + k.name; wanted(name) {
				fmt.Printf("%-44s %8d%s\n", name, nodes, first(t, nodes, 500, k))
			}
		}
	}
}

func wanted(name string) bool { return strings.Contains(name, *rows) }

func row(t *testing.T, name string, nodes, shapes int, churn bool, kinds ...kind) {
	if churn {
		name += ", churn"
	}
	if !wanted(name) {
		return
	}
	b := newBench(t, nodes, shapes, churn, kinds...)
	n := 10000
	if nodes > 10000 {
		n = 4000
	}
	f := b.measure(t, n)
	c := b.e.Counters()
	views, bytes := b.e.Views()
	fmt.Printf("%-44s %8d%s  %d%% by views, %d built, %d views of %d kB\n", name, nodes, f,
		100*c.Viewed/max(1, c.Viewed+c.Scanned+c.Plain), c.Built, views, bytes/1000/max(1, views))
}
