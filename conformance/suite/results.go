package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/berthproject/berth/conformance/testcluster"
)

// result is a stored outcome of a spec.
type result struct {
	date string // 2006-01-02
	outcome
}

// notRun is the state of a spec without a result.
const notRun = "notrun"

// store merges outcomes into the results in a file and writes the document. record is nil unless the outcomes are those of
// all specs in one run; the record of an earlier run is removed, because its results are not complete any more.
func store(file string, specs []string, outcomes map[string]outcome, record *runRecord) error {
	dir, err := suiteDir(context.Background()) // results are stored even if the run was interrupted
	if err != nil {
		return err
	}
	path := filepath.Join(dir, "results", file+".txt")
	results, err := readResults(path)
	if err != nil {
		return err
	}
	date := time.Now().UTC().Format(time.DateOnly)
	for spec, o := range outcomes {
		results[spec] = result{date, o}
	}
	if err := writeResults(path, specs, results, record); err != nil {
		return err
	}
	text, err := readDocument(filepath.Dir(path))
	if err != nil {
		return err
	}
	document := filepath.Join(dir, "..", "..", "docs", "reference", "conformance.md")
	if err := os.WriteFile(document, []byte(generatedLine+text), 0o644); err != nil {
		return err
	}
	fmt.Printf("wrote %s and docs/reference/conformance.md\n", path)
	return nil
}

// writeResults writes a file of results with the record of a run of all specs, or without if record is nil.
func writeResults(path string, specs []string, results map[string]result, record *runRecord) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(record.String()+formatResults(specs, results)), 0o644)
}

// formatResults returns one line for each spec: date, state and name, and the message of a failure.
func formatResults(specs []string, results map[string]result) string {
	var b strings.Builder
	for _, spec := range specs {
		r, ok := results[spec]
		if !ok {
			r = result{date: "-", outcome: outcome{state: notRun}}
		}
		state := r.state
		if r.retried {
			state += "-alone"
		}
		fmt.Fprintf(&b, "%s\t%s\t%s", r.date, state, spec)
		if r.message != "" {
			fmt.Fprintf(&b, "\t%s", r.message)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// parseResults reads the output of formatResults, without specs that did not run.
func parseResults(text string) (map[string]result, error) {
	results := map[string]result{}
	for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		if line == "" {
			continue
		}
		fields := strings.SplitN(line, "\t", 4)
		if len(fields) < 3 {
			return nil, fmt.Errorf("line %d: %q: must have date, state and spec", i+1, line)
		}
		if fields[1] == notRun {
			continue
		}
		state, retried := strings.CutSuffix(fields[1], "-alone")
		r := result{fields[0], outcome{state: state, retried: retried}}
		if len(fields) == 4 {
			r.message = fields[3]
		}
		results[fields[2]] = r
	}
	return results, nil
}

// readResults reads a file of results. It returns an empty map if the file does not exist.
func readResults(path string) (map[string]result, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return map[string]result{}, nil
	}
	if err != nil {
		return nil, err
	}
	_, text, err := parseRecord(string(data))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	results, err := parseResults(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return results, nil
}

// runtimeResults has the stored results of a runtime and the names of all specs.
type runtimeResults struct {
	runtime string
	specs   []string
	results map[string]result
	record  *runRecord // nil: the results are from several runs, or from one whose record is not stored
}

// readDocument returns docs/reference/conformance.md without its first line, from all results in dir.
func readDocument(dir string) (string, error) {
	conformance, err := readAllResults(dir, func(runtime string) string { return runtime })
	if err != nil {
		return "", err
	}
	beyond, err := readAllResults(dir, beyondFile)
	return documentText(conformance) + beyondText(conformance, beyond), err
}

// readAllResults reads the results of all runtimes that have been tested. file returns the name of the file of a runtime,
// without extension.
func readAllResults(dir string, file func(runtime string) string) ([]runtimeResults, error) {
	var allResults []runtimeResults
	for _, runtime := range sortedKeys(testcluster.Runtimes) {
		path := filepath.Join(dir, file(runtime)+".txt")
		data, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		r := runtimeResults{runtime: runtime}
		var text string
		if r.record, text, err = parseRecord(string(data)); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if r.results, err = parseResults(text); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
			r.specs = append(r.specs, strings.Split(line, "\t")[2])
		}
		slices.Sort(r.specs)
		allResults = append(allResults, r)
	}
	return allResults, nil
}
