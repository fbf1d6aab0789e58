package random

import (
	"errors"
	"strings"

	"github.com/berthproject/berth/sim"
	"github.com/berthproject/berth/sim/cluster"
	"github.com/berthproject/berth/sim/script"
)

// Run runs a scenario and returns its failures. An error of type *script.Error means that the
// text is invalid.
func Run(text string) error {
	result, err := runOn(text, func(*cluster.Cluster) error { return nil })
	if err != nil {
		return err
	}
	return result.Err()
}

// runOn runs a scenario on a cluster that prepare initializes.
func runOn(text string, prepare func(*cluster.Cluster) error) (*script.Result, error) {
	o, err := cluster.Defaults()
	if err != nil {
		return nil, err
	}
	s, err := script.Parse("random", text)
	if err != nil {
		return nil, err
	}
	result, err := s.RunOn(o, s.Until(), prepare)
	result.Cluster.Close()
	return result, err
}

// Shrink removes lines of a failing scenario while the same invariant fails, in at most maxRuns
// runs. It returns the remaining text and its failure.
func Shrink(text string, maxRuns int) (string, error) {
	failure := Run(text)
	name := violatedInvariant(failure)
	if name == "" {
		return text, failure
	}
	runs, lines := 0, strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for chunk := len(lines) / 2; chunk > 0; {
		removed := false
		for i := 0; i < len(lines) && runs < maxRuns; runs++ {
			candidate := append(append([]string(nil), lines[:i]...), lines[min(i+chunk, len(lines)):]...)
			if err := Run(strings.Join(candidate, "\n") + "\n"); violatedInvariant(err) == name {
				lines, failure, removed = candidate, err, true
			} else {
				i += chunk
			}
		}
		if !removed || chunk > len(lines) {
			chunk /= 2
		}
	}
	return strings.Join(lines, "\n") + "\n", failure
}

// violatedInvariant returns the name of the violated invariant, or "".
func violatedInvariant(err error) string {
	var v *sim.Violation
	if errors.As(err, &v) {
		return v.Invariant
	}
	return ""
}
