package pingpong

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/berthproject/berth/sim"
	"github.com/berthproject/berth/sim/script"
)

// The cycles of a run.
const (
	Cycles = 100
	First  = 2 * time.Minute
	Every  = 2 * time.Minute
)

// Way is how a case is played.
type Way struct{ Name, words string }

// Ways are all there are; the last one is compatible mode.
func Ways() []Way {
	return []Way{{"planned, held", ""}, {"planned, not held", "unheld"}, {"compatible", "compatible"}}
}

// Outcome is what came of a run.
type Outcome struct {
	Evicted  int // pods that the descheduler evicted
	Returned int // those of them that were replaced on the node they had left
	After    int // those evicted in a cycle that began with the goal reached
	Reached  int // the first cycle that did, from 1; 0: none
	Pending  int // pods without a node at the end
}

// Play plays a case whose files are in dir.
func Play(dir string, c Case, way Way, o sim.Options) (Outcome, error) {
	file := filepath.Join(dir, c.File+".txt")
	text, err := os.ReadFile(file)
	if err != nil {
		return Outcome{}, err
	}
	line := fmt.Sprintf("descheduler policy=%s first=%v every=%v %s\n", c.Policy, First, Every, way.words)
	s, err := script.Parse(file, line+string(text))
	if err != nil {
		return Outcome{}, err
	}
	var out Outcome
	end := First + Cycles*Every
	result, err := s.RunOn(o, end, func(w *sim.World) error {
		watch(w, &c, &out)
		return nil
	})
	if err != nil {
		return out, err
	}
	counts := result.World.Counts()
	out.Evicted, out.Returned, out.Pending = counts.Descheduled, counts.Returned, counts.Created-counts.Bound
	return out, result.Err()
}

// watch looks whether the goal is reached right before each cycle.
func watch(w *sim.World, c *Case, out *Outcome) {
	was, met := 0, false
	for i := range Cycles + 1 {
		w.At(First+time.Duration(i)*Every-time.Millisecond, func() {
			n := w.Counts().Descheduled
			if met {
				out.After += n - was
			}
			was, met = n, c.reached(w)
			if met && out.Reached == 0 {
				out.Reached = i + 1
			}
		})
	}
}

// Table is all outcomes as a table of Markdown.
func Table(dir string, o sim.Options) (string, map[string]Outcome, error) {
	var b strings.Builder
	all := map[string]Outcome{}
	b.WriteString("| case | goal | mode | evicted | of these came back | evicted after the goal | goal reached at the start of cycle |\n| --- | --- | --- | --- | --- | --- | --- |\n")
	for _, c := range Cases() {
		for _, way := range Ways() {
			out, err := Play(dir, c, way, o)
			if err != nil {
				return "", nil, fmt.Errorf("%s, %s: %w", c.Name, way.Name, err)
			}
			reached := "never"
			if out.Reached > 0 {
				reached = fmt.Sprint(out.Reached)
			}
			fmt.Fprintf(&b, "| %s: %s | %s | %s | %d | %d | %d | %s |\n", c.Name, c.About, c.GoalSay, way.Name, out.Evicted, out.Returned, out.After, reached)
			all[c.Name+"/"+way.Name] = out
		}
	}
	return b.String(), all, nil
}
