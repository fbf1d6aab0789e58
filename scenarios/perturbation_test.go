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

// perturbations must not change the outcome of a scenario. Scenarios that depend on exact times or on a
// stopped actor (option exact) run without restarts.
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
		for name, p := range perturbations {
			t.Run(strings.TrimSuffix(file, ".txt")+"/"+name, func(t *testing.T) { checkPerturbation(t, file, p) })
		}
	}
}

// checkPerturbation checks that a scenario with a perturbation meets its expectations and has the same final state.
func checkPerturbation(t *testing.T, file string, p script.Perturbation) {
	s := read(t, file)
	if s.TimingSensitive() && p.Restarts {
		return
	}
	p.FinalState = run(t, s).FinalState()
	s = read(t, file)
	s.SetPerturbation(p)
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
