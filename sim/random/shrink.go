package random

import (
	"errors"
	"strings"

	"github.com/berthproject/berth/sim"
	"github.com/berthproject/berth/sim/script"
)

// Run runs a simulation's text and says what did not hold; nil when all did. An error of
// type *script.Error means that the text is none.
func Run(text string) error {
	o, err := sim.Defaults()
	if err != nil {
		return err
	}
	s, err := script.Parse("random", text)
	if err != nil {
		return err
	}
	result, err := s.Run(o)
	if err != nil {
		return err
	}
	return result.Err()
}

// Shrink drops lines of a failing simulation while it fails in the same invariant, at
// most budget runs long, and answers with the text that is left and its failure.
func Shrink(text string, budget int) (string, error) {
	failure := Run(text)
	name := violatedInvariant(failure)
	if name == "" {
		return text, failure
	}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for chunk := len(lines) / 2; chunk > 0; {
		dropped := false
		for i := 0; i < len(lines) && budget > 0; budget-- {
			less := append(append([]string(nil), lines[:i]...), lines[min(i+chunk, len(lines)):]...)
			if err := Run(strings.Join(less, "\n") + "\n"); violatedInvariant(err) == name {
				lines, failure, dropped = less, err, true
			} else {
				i += chunk
			}
		}
		if !dropped || chunk > len(lines) {
			chunk /= 2
		}
	}
	return strings.Join(lines, "\n") + "\n", failure
}

// violatedInvariant returns the name of what did not hold.
func violatedInvariant(err error) string {
	var v *sim.Violation
	if errors.As(err, &v) {
		return v.Invariant
	}
	return ""
}
