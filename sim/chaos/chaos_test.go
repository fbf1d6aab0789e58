package chaos

import (
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/berthproject/berth/engine/budget"
	"github.com/berthproject/berth/sim"
	"github.com/berthproject/berth/sim/cluster"
)

func options(t *testing.T) cluster.Options {
	t.Helper()
	o, err := cluster.Defaults()
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// TestAllDisplacementsAtOnceSoak checks that actors that obey budgets overdraw none, and that each
// displaced pod has one record, with all displacing components active and faults injected. It
// simulates 10,000 pods with BERTH_SOAK.
func TestAllDisplacementsAtOnceSoak(t *testing.T) {
	sizes := map[int64]int{1: 150, 2: 400, 3: 150}
	duration := 2 * time.Minute
	if os.Getenv("BERTH_SOAK") != "" {
		sizes, duration = map[int64]int{1: 10_000, 2: 2000, 3: 2000, 4: 500, 5: 500, 6: 500, 7: 500}, 15*time.Minute
	}
	for seed, pods := range sizes {
		s := Experiment{Seed: seed, Pods: pods, Duration: duration, Options: options(t)}
		w, err := s.Run()
		if err != nil {
			t.Fatal(err)
		}
		c := w.Counts()
		fmt.Printf("soak: chaos on %d pods, seed %d: %d displaced (%v), %d refused by budgets, %d debited, %d unrecorded while no recorder was running\n",
			pods, seed, c.Displacements(), c.Displaced, c.Refused, c.BudgetDebits, c.Unrecorded)
		if err := w.Violation(); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
	}
}

// TestStaleStatusOverdrawsBudgets checks that upstream's rule, which trusts a stale
// status.disruptionsAllowed, overdraws a budget. It proves that the test above can fail.
func TestStaleStatusOverdrawsBudgets(t *testing.T) {
	for seed := int64(50); seed < 90; seed++ {
		o := options(t)
		o.Evictions.Rules, o.TaintEviction.SkipBudgets = budget.Evictions{}, true
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
	t.Error("none of 40 runs that trust a stale status overdrew a budget")
}
