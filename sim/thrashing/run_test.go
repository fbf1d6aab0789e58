package thrashing

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/berthproject/berth/sim/cluster"
	"github.com/berthproject/berth/sim/script"
)

// The rounds of a run: their number, and the times before the first one and between them.
const (
	Rounds       = 100
	InitialDelay = 2 * time.Minute
	Interval     = 2 * time.Minute
)

// Variant is a configuration of the descheduler.
type Variant struct{ Name, options string }

// Variants returns all variants; the last one is compatible mode.
func Variants() []Variant {
	return []Variant{{"planned, with Holds", ""}, {"planned, without Holds", "ignoreholds"}, {"compatible", "compatible"}}
}

// Outcome is the outcome of a run.
type Outcome struct {
	Evicted   int // evicted pods
	Returned  int // of these, pods replaced on the node they left
	AfterGoal int // evictions in rounds that started with the goal reached
	GoalRound int // first round that started with the goal reached, from 1; 0: none
	Pending   int // unscheduled pods at the end
}

// Run runs a case whose files are in dir.
func Run(dir string, c thrashingCase, variant Variant, o cluster.Options) (Outcome, error) {
	file := filepath.Join(dir, c.File+".txt")
	text, err := os.ReadFile(file)
	if err != nil {
		return Outcome{}, err
	}
	line := fmt.Sprintf("descheduler policy=%s first=%v every=%v %s\n", c.Policy, InitialDelay, Interval, variant.options)
	s, err := script.Parse(file, line+string(text))
	if err != nil {
		return Outcome{}, err
	}
	var out Outcome
	end := InitialDelay + Rounds*Interval
	result, err := s.RunOn(o, end, func(w *cluster.Cluster) error {
		observeRounds(w, &c, &out)
		return nil
	})
	if err != nil {
		return out, err
	}
	defer result.Cluster.Close()
	counts := result.Cluster.Counts()
	out.Evicted, out.Returned, out.Pending = counts.Descheduled, counts.Returned, counts.Created-counts.Bound
	return out, result.Err()
}

// observeRounds checks the goal right before each round and once after the last one.
func observeRounds(w *cluster.Cluster, c *thrashingCase, out *Outcome) {
	previous, goalReached := 0, false
	for i := range Rounds + 1 {
		w.At(InitialDelay+time.Duration(i)*Interval-time.Millisecond, func() {
			n := w.Counts().Descheduled
			if goalReached {
				out.AfterGoal += n - previous
			}
			previous, goalReached = n, c.goalReached(w)
			if goalReached && out.GoalRound == 0 {
				out.GoalRound = i + 1
			}
		})
	}
}

// Table returns all outcomes as a Markdown table and by "CASE/VARIANT".
func Table(dir string, o cluster.Options) (string, map[string]Outcome, error) {
	var b strings.Builder
	all := map[string]Outcome{}
	b.WriteString("| case | goal | mode | evicted | of these returned | evicted after the goal | goal reached at the start of run |\n| --- | --- | --- | --- | --- | --- | --- |\n")
	for _, c := range thrashingCases() {
		for _, variant := range Variants() {
			out, err := Run(dir, c, variant, o)
			if err != nil {
				return "", nil, fmt.Errorf("%s, %s: %w", c.Name, variant.Name, err)
			}
			reached := "never"
			if out.GoalRound > 0 {
				reached = fmt.Sprint(out.GoalRound)
			}
			fmt.Fprintf(&b, "| %s: %s | %s | %s | %d | %d | %d | %s |\n", c.Name, c.Description, c.GoalText, variant.Name, out.Evicted, out.Returned, out.AfterGoal, reached)
			all[c.Name+"/"+variant.Name] = out
		}
	}
	return b.String(), all, nil
}
