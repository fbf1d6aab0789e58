package script

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/berthproject/berth/sim/cluster"
)

// Separator is the line before the recorded timeline.
const Separator = "----"

// Scenario is a parsed scenario. It can be run once.
type Scenario struct {
	File string
	// Lines are the lines before the separator.
	Lines []string
	// Recorded is the recorded timeline; HasRecord reports whether there is one, which may be
	// empty.
	Recorded  []string
	HasRecord bool

	until           time.Duration
	steps           []step
	optionChanges   []func(*cluster.Options)
	checkSettled    bool
	timingSensitive bool
	expectations    int
	perturbation    Perturbation
}

// step is an action at a time.
type step struct {
	at            time.Duration
	isExpectation bool // runs after everything else at that time
	line          int
	execute       func(*run) error
}

// parser is the parser state.
type parser struct {
	s    *Scenario
	line int
	at   time.Duration
	dir  string // directory of loaded files
}

// Parse parses a scenario. Errors are of type *Error.
func Parse(file, text string) (*Scenario, error) {
	s := &Scenario{File: file}
	body, recorded, hasRecord := strings.Cut("\n"+text, "\n"+Separator+"\n")
	s.HasRecord = hasRecord
	if recorded != "" {
		s.Recorded = strings.Split(strings.TrimRight(recorded, "\n"), "\n")
	}
	body = strings.TrimSuffix(strings.TrimPrefix(body, "\n"), "\n")
	if body != "" {
		s.Lines = strings.Split(body, "\n")
	}
	p := &parser{s: s, dir: filepath.Dir(file)}
	for i, line := range s.Lines {
		p.line = i + 1
		if err := p.read(line); err != nil {
			return nil, &Error{file, i + 1, err.Error()}
		}
	}
	return s, nil
}

// Expectations returns the number of expectations.
func (s *Scenario) Expectations() int { return s.expectations }

// TimingSensitive reports whether the scenario depends on exact times or on a stopped actor,
// so that perturbations would change its outcome (option exact).
func (s *Scenario) TimingSensitive() bool { return s.timingSensitive }

// SetPerturbation sets the perturbation of the run.
func (s *Scenario) SetPerturbation(p Perturbation) { s.perturbation = p }

// Until returns the end of the scenario: the one given, or the time of its last step.
func (s *Scenario) Until() time.Duration {
	until := s.until
	for i := range s.steps {
		until = max(until, s.steps[i].at)
	}
	return until
}

func (p *parser) read(line string) error {
	words, err := splitWords(line)
	if err != nil || len(words) == 0 {
		return err
	}
	w := &tokens{words}
	p.at = 0
	if w.accept("at") {
		if p.at, err = w.duration("at"); err != nil {
			return err
		}
	}
	word, ok := w.next()
	if !ok {
		return errors.New("no action at that time; want a verb: " + verbList())
	}
	if current, deprecated := deprecatedVerbs[word]; deprecated {
		word = current
	}
	v, ok := verbs[word]
	if !ok {
		return fmt.Errorf("unknown verb %q; want %s", word, verbList())
	}
	if err := v.read(p, w); err != nil {
		return fmt.Errorf("%s: %w; write: %s", word, err, v.usage)
	}
	if err := w.end(); err != nil {
		return fmt.Errorf("%s: %w; write: %s", word, err, v.usage)
	}
	return nil
}

// addStep adds a step at the line's time.
func (p *parser) addStep(f func(*run) error) {
	p.s.steps = append(p.s.steps, step{at: p.at, line: p.line, execute: f})
}

// addOption adds a change of the simulation options.
func (p *parser) addOption(f func(*cluster.Options)) {
	p.s.optionChanges = append(p.s.optionChanges, f)
}
