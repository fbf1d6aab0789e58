package conformance_test

import (
	"fmt"
	"reflect"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement/fastpath"
	"github.com/berthproject/berth/engine/placement/framework"
)

// fastPathDifferences returns the differences between the decisions of the fast path and the record.
// It decides three times, because the first decision scans all nodes and the later ones use the score cache.
func fastPathDifferences(state *cluster.State, profile *framework.Profile, pod *model.Pod, record *decision.Record) []string {
	engine := fastpath.NewEngine(state, profile, seed)
	want := *decision.Summarize(record, state.NumNodes())
	var out []string
	for i := range 3 {
		var got decision.Summary
		engine.Decide(pod, &got)
		if len(got.ReasonCounts) == 0 && len(want.ReasonCounts) == 0 {
			got.ReasonCounts, want.ReasonCounts = nil, nil
		}
		if !reflect.DeepEqual(got, want) {
			out = append(out, fmt.Sprintf("fast path, decision %d: got %+v, want %+v", i+1, got, want))
		}
	}
	return out
}
