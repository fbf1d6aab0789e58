package main

import (
	"debug/buildinfo"
	"fmt"
	"slices"
	"strings"
	"time"
)

// runRecord describes a run of all specs on one cluster.
type runRecord struct {
	start    time.Time
	duration time.Duration
	commit   string // of the tested binary
}

// recordPrefix begins the line of a runRecord in a file of results.
const recordPrefix = "# one run on one cluster"

// endStates are the states of a spec that ran to its end.
var endStates = []string{statePassed, stateFailed, "panicked", "timedout"}

// newRecord returns the record of a run, or nil unless all specs ran to their end.
func newRecord(specs []string, outcomes map[string]outcome, start time.Time, duration time.Duration, commit string) *runRecord {
	for _, spec := range specs {
		if !slices.Contains(endStates, outcomes[spec].state) {
			return nil
		}
	}
	return &runRecord{start.UTC().Truncate(time.Second), duration.Round(time.Second), commit}
}

// String returns the line of the record in a file of results. A nil record has none.
func (r *runRecord) String() string {
	if r == nil {
		return ""
	}
	return fmt.Sprintf("%s\t%s\t%s\t%s\n", recordPrefix, r.start.Format(time.RFC3339), r.duration, r.commit)
}

// describe returns the text of the record in the document.
func (r *runRecord) describe() string {
	if r == nil {
		return "not recorded"
	}
	return fmt.Sprintf("one run on one cluster, started %s, %s, commit %s", r.start.Format("2006-01-02 15:04 MST"), r.duration, r.commit)
}

// parseRecord returns the record at the beginning of a file of results, or nil, and the remaining text.
func parseRecord(text string) (*runRecord, string, error) {
	if !strings.HasPrefix(text, recordPrefix) {
		return nil, text, nil
	}
	line, remainder, _ := strings.Cut(text, "\n")
	fields := strings.Split(line, "\t")
	if len(fields) != 4 {
		return nil, "", fmt.Errorf("line 1: %q: must have start, duration and commit", line)
	}
	start, err := time.Parse(time.RFC3339, fields[1])
	if err != nil {
		return nil, "", fmt.Errorf("line 1: start of the run: %w", err)
	}
	duration, err := time.ParseDuration(fields[2])
	if err != nil {
		return nil, "", fmt.Errorf("line 1: duration of the run: %w", err)
	}
	return &runRecord{start, duration, fields[3]}, remainder, nil
}

// commitOf returns the commit from which a Go program was built.
func commitOf(program string) (string, error) {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return "", fmt.Errorf("reading the commit of %s: %w", program, err)
	}
	commit, modified := "unknown", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			commit = s.Value[:min(len(s.Value), 12)]
		case s.Key == "vcs.modified" && s.Value == "true":
			modified = " with local changes"
		}
	}
	return commit + modified, nil
}
