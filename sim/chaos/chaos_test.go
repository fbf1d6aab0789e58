package chaos

import (
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/berthproject/berth/engine/budget"
	"github.com/berthproject/berth/sim"
)

func options(t *testing.T) sim.Options {
	t.Helper()
	o, err := sim.Defaults()
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// TestAllDisplacementsAtOnceSoak: the component that displaces, however many at once and whatever goes
// wrong, no budget is overdrawn by who obeys it, and each displaced pod has one record.
// 10,000 pods with BERTH_SOAK.
func TestAllDisplacementsAtOnceSoak(t *testing.T) {
	sizes := map[int64]int{1: 150, 2: 400, 3: 150}
	during := 2 * time.Minute
	if os.Getenv("BERTH_SOAK") != "" {
		sizes, during = map[int64]int{1: 10_000, 2: 2000, 3: 2000, 4: 500, 5: 500, 6: 500, 7: 500}, 15*time.Minute
	}
	for seed, pods := range sizes {
		s := Experiment{Seed: seed, Pods: pods, Duration: during, Options: options(t)}
		w, err := s.Run()
		if err != nil {
			t.Fatal(err)
		}
		c := w.Counts()
		fmt.Printf("soak: strife over %d pods, seed %d: %d displaced (%v), %d refused by budgets, %d paid for, %d without a record as nobody looked\n",
			pods, seed, c.Displacements(), c.Displaced, c.Refused, c.BudgetDebits, c.Unrecorded)
		if err := w.Violation(); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
	}
}

// TestStaleStatusOverdrawsBudgets: the same with upstream's rule, which believes
// status.disruptionsAllowed however old it is, goes past a budget. So the test above can fail.
func TestStaleStatusOverdrawsBudgets(t *testing.T) {
	for seed := int64(14); seed < 54; seed++ {
		o := options(t)
		o.Evictions, o.TaintEvictionsSkipBudgets = budget.Evictions{}, true
		s := Experiment{Seed: seed, Pods: 150, Duration: time.Minute, SkipSettling: true, Options: o}
		w, err := s.Run()
		if err != nil {
			t.Fatal(err)
		}
		var v *sim.Violation
		if errors.As(w.Violation(), &v) && v.Invariant == "BudgetRespected" {
			fmt.Printf("with upstream's rule, seed %d: %v\n", seed, v)
			return
		}
	}
	t.Error("of 40 runs that trust a stale status, none went past a budget")
}
