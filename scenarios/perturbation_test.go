package scenarios

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/berthproject/berth/sim/cluster"
	"github.com/berthproject/berth/sim/script"
)

// perturbations must not change the outcome of a scenario. Scenarios marked exact, or that test a
// single moment or a stopped actor, are not restarted.
var perturbations = map[string]script.Perturbation{
	"restarts": {Restarts: true, ExpectTimeout: 2 * time.Minute},
	"lag":      {Lag: 300 * time.Millisecond, ExpectTimeout: 2 * time.Minute},
	"both":     {Restarts: true, Lag: 150 * time.Millisecond, ExpectTimeout: 2 * time.Minute},
}

// TestScenariosWithPerturbations runs each scenario with every actor restarted between its steps,
// and with lagging watches. All expectations must still be met.
func TestScenariosWithPerturbations(t *testing.T) {
	files, err := filepath.Glob("*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios found (%v)", err)
	}
	for _, file := range files {
		for name, h := range perturbations {
			t.Run(strings.TrimSuffix(file, ".txt")+"/"+name, func(t *testing.T) { suffer(t, file, h) })
		}
	}
}

func suffer(t *testing.T, file string, h script.Perturbation) {
	s := read(t, file)
	if s.TimingSensitive() && h.Restarts {
		return
	}
	h.FinalState = run(t, s).FinalState()
	s = read(t, file)
	s.SetPerturbation(h)
	if err := run(t, s).Err(); err != nil {
		t.Error(err)
	}
}

func read(t *testing.T, file string) *script.Scenario {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	s, err := script.Parse(file, string(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func run(t *testing.T, s *script.Scenario) *script.Result {
	t.Helper()
	o, err := cluster.Defaults()
	if err != nil {
		t.Fatal(err)
	}
	result, err := s.Run(o)
	if err != nil {
		t.Fatal(err)
	}
	return result
}
