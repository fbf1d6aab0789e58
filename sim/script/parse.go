package script

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
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

// parser parses the lines of a scenario.
type parser struct {
	s    *Scenario
	line int           // number of the current line, from 1
	at   time.Duration // time of the current line
	dir  string        // directory of loaded files
	// untrusted refuses files and large exponents, and limits the number of names to maxNames. Names of long lines
	// count several times.
	untrusted       bool
	names, maxNames int
	length          int // of the line
}

// Parse parses a scenario. Errors are of type *Error.
func Parse(file, text string) (*Scenario, error) {
	return parseWith(&parser{dir: filepath.Dir(file)}, file, text)
}

// untrustedDecisions is the maximum number of decisions in an event of an untrusted scenario.
const untrustedDecisions = 64

// ParseUntrusted parses a scenario that another user wrote. It must not refer to files, and its quantities must not have
// large exponents. Its ranges must not have more than maxNames names in total; names of lines longer than 256 bytes count
// several times.
func ParseUntrusted(file, text string, maxNames int) (*Scenario, error) {
	return parseWith(&parser{untrusted: true, maxNames: maxNames}, file, text)
}

func parseWith(p *parser, file, text string) (*Scenario, error) {
	s := &Scenario{File: file}
	p.s = s
	body, recorded, hasRecord := strings.Cut("\n"+text, "\n"+Separator+"\n")
	s.HasRecord = hasRecord
	if recorded != "" {
		s.Recorded = strings.Split(strings.TrimRight(recorded, "\n"), "\n")
	}
	body = strings.TrimSuffix(strings.TrimPrefix(body, "\n"), "\n")
	if body != "" {
		s.Lines = strings.Split(body, "\n")
	}
	for i, line := range s.Lines {
		p.line = i + 1
		if err := p.read(line); err != nil {
			return nil, &Error{file, i + 1, err.Error()}
		}
	}
	return s, nil
}

// readNames reads a name or a range of names.
func (p *parser) readNames(w *tokens, description string) []string {
	name := w.name(description)
	names, err := expand(name)
	if err != nil {
		w.fail(err)
	}
	if p.names += len(names) * (1 + p.length/256); p.untrusted && p.names > p.maxNames {
		w.failf("%s: the scenario has more than %d names: use shorter ranges", name, p.maxNames)
	}
	return names
}

// path returns the path of a file. It fails if the scenario must not refer to the file.
func (p *parser) path(w *tokens, file string) string {
	switch {
	case p.untrusted:
		w.failf("%s: files are not available here: the scenario must not refer to files", file)
	case strings.Contains(file, "..") || strings.HasPrefix(file, "/"):
		w.failf("%s: must be a file in or below the directory of the scenario", file)
	}
	return p.dir + "/" + file
}

// Expectations returns the number of expectations.
func (s *Scenario) Expectations() int { return s.expectations }

// TimingSensitive reports whether the scenario depends on exact times or on a stopped actor,
// so that perturbations would change its outcome (option exact).
func (s *Scenario) TimingSensitive() bool { return s.timingSensitive }

// SetPerturbation sets the perturbation of the run.
func (s *Scenario) SetPerturbation(p Perturbation) { s.perturbation = p }

// Until returns the end of the scenario: the given end or the time of its last step, whichever is later.
func (s *Scenario) Until() time.Duration {
	until := s.until
	for i := range s.steps {
		until = max(until, s.steps[i].at)
	}
	return until
}

// largeExponent matches quantities whose parsing can take hours.
var largeExponent = regexp.MustCompile(`[=:<,][+-]?[0-9.]+[eE][+-]?[0-9]{3,}`)

// read parses a line.
func (p *parser) read(line string) error {
	p.length = len(line)
	if m := largeExponent.FindString(line); p.untrusted && m != "" {
		return fmt.Errorf("%.40s: exponents must have at most two digits", m[1:])
	}
	words, err := splitWords(line)
	if err != nil || len(words) == 0 {
		return err
	}
	w := &tokens{list: words}
	p.at = 0
	if w.accept("at") {
		if p.at = w.duration("at"); w.err != nil {
			return w.err
		}
	}
	word, ok := w.next()
	if !ok {
		return errors.New("no action at that time: must be one of " + verbList())
	}
	word = currentName(deprecatedVerbs, word)
	v, ok := verbs[word]
	if !ok {
		return fmt.Errorf("unknown verb %q: must be one of %s", word, verbList())
	}
	v.read(p, w)
	if w.end(); w.err != nil {
		return fmt.Errorf("%s: %w; write: %s", word, w.err, v.usage)
	}
	return nil
}

// currentName returns the current name for a deprecated one; other names are returned unchanged.
func currentName(deprecated map[string]string, name string) string {
	if current, ok := deprecated[name]; ok {
		return current
	}
	return name
}

// addStep adds a step at the line's time.
func (p *parser) addStep(f func(*run)) {
	p.s.steps = append(p.s.steps, step{at: p.at, line: p.line, execute: func(r *run) error {
		f(r)
		return r.err
	}})
}

// failAt fails if the line has a time.
func (p *parser) failAt(w *tokens, reason string) {
	if p.at != 0 {
		w.fail(errors.New(reason))
	}
}

// addOption adds a change of the simulation options.
func (p *parser) addOption(f func(*cluster.Options)) {
	p.s.optionChanges = append(p.s.optionChanges, f)
}
