package metrics

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/berthproject/berth/engine/displacement"
	"github.com/berthproject/berth/internal/journal"
)

func TestDisplacementsCount(t *testing.T) {
	d := NewDisplacements()
	if n := testutil.CollectAndCount(d); n != len(displacement.Causes()) {
		t.Errorf("got %d values at the start, want %d", n, len(displacement.Causes()))
	}
	for _, rec := range []journal.Displacement{
		{Cause: "API"}, {Cause: "API", Budgets: []journal.Budget{{Name: "b", Before: 1}}},
		{Cause: "Preemption", Budgets: []journal.Budget{{Name: "a", Before: 1}, {Name: "b", Overruled: true}}},
		{Cause: "Taint"}, {Cause: "unknown"},
	} {
		d.Count(&rec)
	}
	for labels, want := range map[[2]string]float64{
		{"API", "obeyed"}: 2, {"Preemption", "obeyed"}: 0, {"Preemption", "overruled"}: 1, {"Taint", "notConsulted"}: 1, {"Unknown", "obeyed"}: 1,
	} {
		if got := testutil.ToFloat64(d.WithLabelValues(labels[0], labels[1])); got != want {
			t.Errorf("%v: got %v, want %v", labels, got, want)
		}
	}
}

func TestRegisterRejectsDuplicates(t *testing.T) {
	r := NewRegistry()
	if err := Register(r, NewDisplacements()); err != nil {
		t.Fatal(err)
	}
	if Register(r, NewDisplacements()) == nil {
		t.Error("got no error for a duplicate name")
	}
	if err := Register(nil, NewDisplacements()); err != nil {
		t.Error(err)
	}
}
