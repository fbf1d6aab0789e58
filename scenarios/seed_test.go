package scenarios

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/berthproject/berth/internal/config"
	"github.com/berthproject/berth/sim/cluster"
)

// TestScenariosWithDefaultSeed runs each scenario as `berth simulate --scenario FILE` does: its
// seed differs from that of the recorded timelines, so the choice between equal nodes does, too.
func TestScenariosWithDefaultSeed(t *testing.T) {
	files, err := filepath.Glob("*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios found (%v)", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(file, ".txt"), func(t *testing.T) {
			o, err := cluster.Defaults()
			if err != nil {
				t.Fatal(err)
			}
			o.TieBreakSeed = config.Default().Scheduler.Seed
			result, err := read(t, file).Run(o)
			if err != nil {
				t.Fatal(err)
			}
			if err := result.Err(); err != nil {
				t.Error(err)
			}
		})
	}
}
