package bench

import (
	"flag"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/berthproject/berth/engine/descheduling"
	"github.com/berthproject/berth/engine/descheduling/plugins"
	"github.com/berthproject/berth/load"
)

// packedResources are the resources that packing considers.
var packedResources = []string{"cpu", "memory", string(load.GPU)}

// packingPolicy returns a policy of HighNodeUtilization with a threshold in percent of each packed resource.
func packingPolicy(percent float64) descheduling.Policy {
	var t plugins.Thresholds
	for _, name := range packedResources {
		t = append(t, plugins.Threshold{Resource: name, Percent: percent})
	}
	return descheduling.Policy{Profiles: []descheduling.Profile{{Name: "pack", Balance: []descheduling.Strategy{&plugins.HighNodeUtilization{Thresholds: t}}}}}
}

var allFills = flag.Bool("all-fills", false, "TestOpenBPacking: compute the whole table")

// TestOpenBPacking checks that docs/performance/descheduler.md has the results of packing OpenB's cluster. It fills the
// cluster in three random orders and packs it in three ways. The first is the Kubernetes descheduler with a scheduler
// that packs. The others are a plan, and a plan with half as many evictions.
func TestOpenBPacking(t *testing.T) {
	nodes, all := readOpenB(t)
	docs, err := os.ReadFile("../docs/performance/descheduler.md")
	if err != nil {
		t.Fatal(err)
	}
	var missing []string
	fills := []struct {
		share   int // percent of the pods of the trace
		percent float64
	}{{40, 50}, {50, 50}, {100, 50}, {40, 30}, {50, 30}}
	if !*allFills {
		fills = fills[:1]
	}
	for _, c := range fills {
		for seed := range uint64(3) {
			filled := fill(t, nodes, all[:len(all)*c.share/100], seed)
			pending := len(filled.pending)
			compatible := filled.fork().pack(packingPolicy(c.percent), false, math.MaxInt)
			planned := filled.fork().pack(packingPolicy(c.percent), true, math.MaxInt)
			halfCompatible := filled.fork().pack(packingPolicy(c.percent), true, compatible.Evicted/2)
			lower, upper := filled.bounds(c.percent, compatible.Emptied, compatible.Evicted/2)
			row := fmt.Sprintf("| %d %% | %.0f %% | %d | %d | %d | %s | %d | %d | %s | %s |", c.share, c.percent, seed+1, compatible.Before, pending,
				compatible.tableCells(), lower, upper, halfCompatible.tableCells(), planned.tableCells())
			if !strings.Contains(string(docs), row) {
				missing = append(missing, row)
			}
			if planned.Emptied < compatible.Emptied || planned.Returned > 0 || planned.Pending > pending {
				t.Errorf("got row %s, want a plan that empties as many nodes as compatible mode, returns no pod and leaves no more pods pending", row)
			}
			if halfCompatible.Emptied < min(compatible.Emptied, upper) || halfCompatible.Evicted > compatible.Evicted/2 || halfCompatible.Returned > 0 {
				t.Errorf("got row %s, want a plan with half of the evictions that empties as many nodes as compatible mode, or as possible", row)
			}
		}
	}
	if len(missing) > 0 {
		t.Errorf("docs/performance/descheduler.md lacks these rows, want all:\n%s", strings.Join(missing, "\n"))
	}
}

// tableCells formats the emptied nodes, the evictions, the pods that returned to their node, and the pending pods. The
// emptied nodes include the number that now run pods that were pending.
func (r *packingResult) tableCells() string {
	return fmt.Sprintf("%d (%d) / %d / %d / %d", r.Emptied, r.Reused, r.Evicted, r.Returned, r.Pending)
}
