package chaos

import (
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/berthproject/berth/engine/budget"
	"github.com/berthproject/berth/internal/config"
	"github.com/berthproject/berth/sim"
	"github.com/berthproject/berth/sim/cluster"
	"github.com/berthproject/berth/sim/controllers/descheduler"
)

// alwaysEvictingPolicy returns a policy that always proposes evictions.
func alwaysEvictingPolicy(t *testing.T) config.Descheduler {
	t.Helper()
	docs, err := config.Documents([]string{"testdata/always-evicting.yaml"})
	if err != nil {
		t.Fatal(err)
	}
	d, err := config.ReadDescheduler(docs[0], config.DeschedulerReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// withDescheduler returns options with a descheduler.
func withDescheduler(t *testing.T, compatible, withoutHolds bool) cluster.Options {
	o := options(t)
	o.Descheduler = &descheduler.Options{Policy: alwaysEvictingPolicy(t).Policy, Compatible: compatible, WithoutHolds: withoutHolds, InitialDelay: warmup, Interval: 10 * time.Second}
	o.IgnoreHolds = withoutHolds
	return o
}

// TestDeschedulerRespectsBudgetsSoak checks that actors that obey budgets overdraw none in both
// modes of the descheduler, with all other displacing components active and faults injected. Half
// of the pods have budgets.
func TestDeschedulerRespectsBudgetsSoak(t *testing.T) {
	pods, duration, seeds := 75, 30*time.Second, int64(1)
	if os.Getenv("BERTH_SOAK") != "" {
		pods, duration, seeds = 1000, 10*time.Minute, 10
	}
	for _, mode := range []struct {
		name                     string
		compatible, withoutHolds bool
	}{{"planned, with Holds", false, false}, {"planned, without Holds", false, true}, {"compatible", true, false}} {
		for seed := int64(1); seed <= seeds; seed++ {
			s := Experiment{Seed: seed, Pods: pods, Duration: duration, HalfWithoutBudgets: true, Options: withDescheduler(t, mode.compatible, mode.withoutHolds)}
			w, err := s.Run()
			if err != nil {
				t.Fatal(err)
			}
			c := w.Counts()
			fmt.Printf("soak: %s, seed %d: the descheduler moved %d of %d displaced pods, %d were refused by budgets\n", mode.name, seed, c.Descheduled, c.Displacements(), c.Refused)
			if err := w.Violation(); err != nil {
				t.Errorf("%s, seed %d: %v", mode.name, seed, err)
			}
			if c.Descheduled == 0 {
				t.Errorf("%s, seed %d: the descheduler moved no pod, want at least one", mode.name, seed)
			}
		}
	}
}

// TestDeschedulerOverdrawsStaleBudgets checks that upstream's eviction rule overdraws a budget in
// the same simulation. It proves that the test above can fail.
func TestDeschedulerOverdrawsStaleBudgets(t *testing.T) {
	for seed := int64(1); seed <= 40; seed++ {
		o := withDescheduler(t, true, false)
		o.Evictions.Rules, o.TaintEviction.SkipBudgets = budget.Evictions{}, true
		s := Experiment{Seed: seed, Pods: 150, Duration: time.Minute, HalfWithoutBudgets: true, SkipSettling: true, Options: o}
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
