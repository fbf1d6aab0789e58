package random

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/berthproject/berth/sim"
	"github.com/berthproject/berth/sim/cluster"
	"github.com/berthproject/berth/sim/invariants"
)

// events is the number of events in each simulation.
const events = 200

// TestSimulationsSoak runs simulations from seeds: several thousand in a test run, 100,000 with
// BERTH_SOAK. BERTH_SIMULATIONS sets their number and BERTH_SEED the first seed.
func TestSimulationsSoak(t *testing.T) {
	n, first := envNumber(t, "BERTH_SIMULATIONS", 0), envNumber(t, "BERTH_SEED", 1)
	deadline := time.Time{}
	if os.Getenv("BERTH_SOAK") != "" && n == 0 {
		n = 100_000
	}
	if n == 0 { // limited in time for slow machines
		n, deadline = 3000, time.Now().Add(15*time.Second)
	}
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // simulations are small and short
	var next, done, failures atomic.Int64
	var wg sync.WaitGroup
	start, counts := time.Now(), runCounts{faults: map[string]int{}}
	for range workers() {
		wg.Go(func() {
			for failures.Load() < 5 && (deadline.IsZero() || time.Now().Before(deadline)) {
				i := next.Add(1) - 1
				if i >= n {
					return
				}
				if err := counts.run(Generate(first+i, events)); err != nil {
					failures.Add(1)
					report(t, first+i, err)
				}
				done.Add(1)
			}
		})
	}
	wg.Wait()
	fmt.Printf("soak: simulations of %d events: %d seeds from %d, %d failures, %d steps (%.0f per second), %d invariants, faults %v\n",
		events, done.Load(), first, failures.Load(), counts.steps, float64(counts.steps)/time.Since(start).Seconds(), len(invariants.All), counts.faults)
}

// runCounts are the counts of all runs.
type runCounts struct {
	mu     sync.Mutex
	steps  int
	faults map[string]int // by name
}

// run is Run with counts.
func (n *runCounts) run(text string) error {
	faults := map[string]int{}
	result, err := runOn(text, func(c *cluster.Cluster) error {
		c.OnNotice(func(notice any) {
			switch notice := notice.(type) {
			case sim.Requested:
				if notice.Fault != sim.NoFault {
					faults[notice.Fault.String()]++
				}
			case sim.Killed:
				faults["kill"]++
			case sim.WatchLost:
				faults["watch lost"]++
			}
		})
		return nil
	})
	if err != nil {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.steps += result.Cluster.Steps()
	for name, k := range faults {
		n.faults[name] += k
	}
	return result.Err()
}

func workers() int {
	if os.Getenv("BERTH_SOAK") != "" {
		return 2
	}
	return 1
}

// report writes a minimal scenario file that reproduces a failure.
func report(t *testing.T, seed int64, failure error) {
	text, err := Shrink(Generate(seed, events), 2000)
	if err == nil {
		err = failure
	}
	file := filepath.Join(os.TempDir(), "berth-simulation-"+strconv.FormatInt(seed, 10)+".txt")
	header := fmt.Sprintf("# seed %d: %v\n", seed, err)
	if werr := os.WriteFile(file, []byte(header+text), 0o644); werr != nil {
		file = werr.Error()
	}
	t.Errorf("seed %d (reproduce with BERTH_SEED=%d BERTH_SIMULATIONS=1): %v\nminimal scenario %s:\n%s", seed, seed, err, file, text)
}

// envNumber returns the value of an environment variable, or fallback if it is not set.
func envNumber(t *testing.T, name string, fallback int64) int64 {
	s := os.Getenv(name)
	if s == "" {
		return fallback
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 1 {
		t.Fatalf("%s=%s: must be a whole number of at least 1", name, s)
	}
	return n
}
