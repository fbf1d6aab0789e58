package displacement_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/displacement"
	"github.com/berthproject/berth/engine/model"
)

// newBudget returns a budget that allows disruptions and has an entry for pod "d".
func newBudget(allowed int32) *model.Budget {
	return &model.Budget{Namespace: "ns", Name: "b", Generation: 2, ObservedGeneration: 2, DisruptionsAllowed: allowed,
		Disrupted: []string{"d"}, DisruptedAt: []time.Time{start}}
}

// victims returns pods of namespace ns, created before the entry of newBudget.
func victims(names ...string) (out []*model.Pod) {
	for _, name := range names {
		out = append(out, &model.Pod{Namespace: "ns", Name: name, Created: start.Add(-time.Hour)})
	}
	return out
}

func TestPlanDebit(t *testing.T) {
	recreated := victims("d")
	recreated[0].Created = start.Add(time.Second)
	for name, tc := range map[string]struct {
		allowed            int32
		generation         int64
		decision           decision.Debit
		victims            []*model.Pod
		granted, overruled []string
		required           int
	}{
		"allowed":                       {2, 2, decision.Debit{Granted: []string{"a", "c"}}, victims("a", "c"), []string{"a", "c"}, nil, 2},
		"more than allowed":             {1, 2, decision.Debit{Granted: []string{"a", "c"}}, victims("a", "c"), []string{"a"}, []string{"c"}, 2},
		"overruled pods, one allowed":   {1, 2, decision.Debit{Overruled: []string{"a", "c"}}, victims("a", "c"), []string{"a"}, []string{"c"}, 0},
		"negative allowed disruptions":  {-1, 2, decision.Debit{Overruled: []string{"a"}}, victims("a"), nil, []string{"a"}, 0},
		"status of an older generation": {2, 3, decision.Debit{Granted: []string{"a"}}, victims("a"), nil, []string{"a"}, 1},
		"pod with an entry":             {2, 2, decision.Debit{Granted: []string{"d", "a"}}, victims("a", "d"), []string{"a"}, nil, 1},
		"entry of an earlier pod":       {2, 2, decision.Debit{Granted: []string{"d"}}, recreated, []string{"d"}, nil, 1},
		"every pod was debited earlier": {2, 2, decision.Debit{Granted: []string{"d"}}, victims("d"), nil, nil, 0},
		"granted before overruled pods": {1, 2, decision.Debit{Granted: []string{"a"}, Overruled: []string{"c"}}, victims("a", "c"), []string{"a"}, []string{"c"}, 1},
		"overruled pod with an entry":   {1, 2, decision.Debit{Overruled: []string{"d"}}, victims("d"), nil, nil, 0},
	} {
		b := newBudget(tc.allowed)
		b.Generation = tc.generation
		got, required := displacement.PlanDebit(b, tc.decision, tc.victims)
		if !slices.Equal(got.Granted, tc.granted) || !slices.Equal(got.Overruled, tc.overruled) || required != tc.required || got.IsEmpty() != (len(tc.granted)+len(tc.overruled) == 0) {
			t.Errorf("%s: got debit %+v, required %d; want granted %v, overruled %v, required %d", name, got, required, tc.granted, tc.overruled, tc.required)
		}
	}
}

func TestEntries(t *testing.T) {
	d := displacement.Debit{Granted: []string{"a", "c"}, Overruled: []string{"e"}}
	got := d.Entries(newBudget(2))
	want := map[string]displacement.Entry{"a": {Budget: "b", Before: 2}, "c": {Budget: "b", Before: 2}, "e": {Budget: "b", Before: 2, Overruled: true}}
	if !maps.Equal(got, want) {
		t.Errorf("got entries %v, want %v", got, want)
	}
}
