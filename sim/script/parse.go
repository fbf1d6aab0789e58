package script

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/berthproject/berth/sim"
)

// Separator is the line before the recorded timeline.
const Separator = "----"

// Scenario is one that was read. It can be run once.
type Scenario struct {
	File string
	// Lines are those before the separator.
	Lines []string
	// Recorded is the timeline in the file; HasRecord says that there is one, if only an empty one.
	Recorded  []string
	HasRecord bool

	until           time.Duration
	steps           []step
	configs         []func(*sim.Options)
	checkSettled    bool
	timingSensitive bool
	expects         int
	perturbation    Perturbation
}

// step is something that is done at a time.
type step struct {
	at            time.Duration
	isExpectation bool // after all else that happens then: expectations
	line          int
	do            func(*run) error
}

// parser is the state of reading.
type parser struct {
	s    *Scenario
	line int
	at   time.Duration
	dir  string // of files that are loaded
}

// Parse reads a scenario. Errors are of type *Error.
func Parse(file, text string) (*Scenario, error) {
	s := &Scenario{File: file}
	body, recorded, has := strings.Cut("\n"+text, "\n"+Separator+"\n")
	s.HasRecord = has
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

// Expectations returns how many things the scenario expects.
func (s *Scenario) Expectations() int { return s.expects }

// TimingSensitive reports whether the scenario is about times, or about what one actor does while another
// one is down: under other hardships it would be another one.
func (s *Scenario) TimingSensitive() bool { return s.timingSensitive }

// SetPerturbation has the scenario run under hardships.
func (s *Scenario) SetPerturbation(h Perturbation) { s.perturbation = h }

// Until returns when the scenario ends: as it says, or when the last thing in it is due.
func (s *Scenario) Until() time.Duration {
	until := s.until
	for i := range s.steps {
		until = max(until, s.steps[i].at)
	}
	return until
}

func (p *parser) read(line string) error {
	list, err := splitWords(line)
	if err != nil || len(list) == 0 {
		return err
	}
	w := &tokens{list}
	p.at = 0
	if w.accept("at") {
		if p.at, err = w.duration("at"); err != nil {
			return err
		}
	}
	word, ok := w.next()
	if !ok {
		return errors.New("nothing is to happen at that time; want a verb: " + verbList())
	}
	v, ok := verbs[word]
	if !ok {
		return fmt.Errorf("%q is no verb; want %s", word, verbList())
	}
	if err := v.read(p, w); err != nil {
		return fmt.Errorf("%s: %w; write: %s", word, err, v.usage)
	}
	if err := w.end(); err != nil {
		return fmt.Errorf("%s: %w; write: %s", word, err, v.usage)
	}
	return nil
}

// addStep has something done at the line's time.
func (p *parser) addStep(do func(*run) error) {
	p.s.steps = append(p.s.steps, step{at: p.at, line: p.line, do: do})
}

// addOption has an option set before the run.
func (p *parser) addOption(f func(*sim.Options)) { p.s.configs = append(p.s.configs, f) }
