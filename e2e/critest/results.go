//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
)

// outcome is the outcome of a spec.
type outcome string

const (
	passed  outcome = "passed"
	failed  outcome = "failed"
	refused outcome = "refused" // the embedded runtime returned an error that names the field
	skipped outcome = "skipped" // by the suite
)

// result is the result of a spec.
type result struct {
	group, name string
	outcome     outcome
	message     string // one line, "" if passed
}

// refusal matches the embedded runtime's error for an unsupported field, which has the field's name.
var refusal = regexp.MustCompile(`the embedded runtime does not support ([^:\n]+)`)

// readReport reads a JSON report of ginkgo. It returns an error if the setup of the suite failed.
func readReport(file string) ([]result, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var suites []struct {
		SpecReports []struct {
			ContainerHierarchyTexts           []string
			LeafNodeType, LeafNodeText, State string
			Failure                           struct{ Message string }
		}
	}
	if err := json.Unmarshal(text, &suites); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	var all []result
	for _, suite := range suites {
		for _, s := range suite.SpecReports {
			if s.LeafNodeType != "It" {
				if s.State != "passed" {
					return nil, fmt.Errorf("%s: %s: %s", file, s.LeafNodeType, s.Failure.Message)
				}
				continue
			}
			if len(s.ContainerHierarchyTexts) == 0 {
				continue
			}
			group := strings.TrimPrefix(s.ContainerHierarchyTexts[0], "[k8s.io] ")
			name := strings.Join(append(s.ContainerHierarchyTexts[1:], s.LeafNodeText), " ")
			if r, ran := newResult(strings.ReplaceAll(group, " [Conformance]", ""), name, s.State, s.Failure.Message); ran {
				all = append(all, r)
			}
		}
	}
	return all, nil
}

// newResult classifies a spec. It reports false for a spec that was not selected.
func newResult(group, name, state, message string) (result, bool) {
	r := result{group: group, name: strings.ReplaceAll(name, " [Conformance]", ""), message: firstLine(message)}
	switch state {
	case "passed":
		r.outcome = passed
	case "skipped", "pending":
		r.outcome = skipped
		if message == "" { // by a filter
			return r, false
		}
	default:
		r.outcome = failed
		if field := refusal.FindStringSubmatch(message); field != nil {
			r.outcome, r.message = refused, field[1]
		}
	}
	return r, true
}

// firstLine returns the first line of a message, at most 160 characters.
func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	const width = 160
	if runes := []rune(line); len(runes) > width {
		line = string(runes[:width]) + "…"
	}
	return line
}
