package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/berthproject/berth/conformance/testcluster"
)

// result is the outcome of the checks of software, or of a suite.
type result struct {
	date          string // 2006-01-02
	version       string
	passed, total int    // checks or specs
	reason        string // why the next check did not pass
}

// failed reports whether a check did not pass.
func (r result) failed() bool { return r.reason != "" || r.passed < r.total }

// store merges the result of a run into results.txt and writes the document.
func store(name string, r result) error {
	root, err := testcluster.ModuleDir(context.Background(), "", "github.com/berthproject/berth") // results are stored even if the run was interrupted
	if err != nil {
		return err
	}
	path := filepath.Join(root, "conformance", "software", "results.txt")
	results, err := readResults(path)
	if err != nil {
		return err
	}
	results[name] = r
	if err := os.WriteFile(path, []byte(formatResults(results)), 0o644); err != nil {
		return err
	}
	document := filepath.Join(root, "docs", "reference", "software.md")
	return os.WriteFile(document, []byte(generatedLine+documentText(results)), 0o644)
}

// formatResults returns one line for each run: name, version, date, passed and all checks, and the reason.
func formatResults(results map[string]result) string {
	var b strings.Builder
	for _, one := range allRuns() {
		if r, ok := results[one.name]; ok {
			fmt.Fprintf(&b, "%s\t%s\t%s\t%d\t%d\t%s\n", one.name, r.version, r.date, r.passed, r.total, strings.Join(strings.Fields(r.reason), " "))
		}
	}
	return b.String()
}

// readResults reads a file of results; a missing file has none.
func readResults(path string) (map[string]result, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return map[string]result{}, nil
	}
	if err != nil {
		return nil, err
	}
	results, err := parseResults(string(data))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return results, nil
}

// parseResults reads the output of formatResults.
func parseResults(text string) (map[string]result, error) {
	results := map[string]result{}
	for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		if line == "" {
			continue
		}
		fields := strings.Split(line, "\t")
		if len(fields) != 6 {
			return nil, fmt.Errorf("line %d: %q: must have name, version, date, passed checks, all checks and reason", i+1, line)
		}
		r := result{version: fields[1], date: fields[2], reason: fields[5]}
		var errs [2]error
		r.passed, errs[0] = strconv.Atoi(fields[3])
		r.total, errs[1] = strconv.Atoi(fields[4])
		if err := errors.Join(errs[:]...); err != nil {
			return nil, fmt.Errorf("line %d: %q: %w", i+1, line, err)
		}
		results[fields[0]] = r
	}
	return results, nil
}
