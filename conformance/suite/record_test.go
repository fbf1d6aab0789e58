package main

import (
	"os"
	"reflect"
	"strings"
	"testing"
	"time"
)

// TestRecordNeedsAllSpecs checks that a run has a record only if each spec ran to its end.
func TestRecordNeedsAllSpecs(t *testing.T) {
	start := time.Date(2026, 1, 2, 3, 4, 5, 600, time.UTC)
	specs := []string{nodeSpec, appsSpec}
	for name, tc := range map[string]struct {
		outcomes map[string]outcome
		want     bool
	}{
		"all":         {map[string]outcome{nodeSpec: {state: statePassed}, appsSpec: {state: stateFailed}}, true},
		"alone":       {map[string]outcome{nodeSpec: {state: statePassed, retried: true}, appsSpec: {state: "timedout"}}, true},
		"one":         {map[string]outcome{nodeSpec: {state: statePassed}}, false},
		"missing":     {map[string]outcome{nodeSpec: {state: statePassed}, appsSpec: {state: "missing"}}, false},
		"interrupted": {map[string]outcome{nodeSpec: {state: statePassed}, appsSpec: {state: "interrupted"}}, false},
	} {
		record := newRecord(specs, tc.outcomes, start, 90*time.Minute+200*time.Millisecond, "abc")
		if (record != nil) != tc.want {
			t.Errorf("%s: got record %v, want one: %v", name, record, tc.want)
			continue
		}
		got, remainder, err := parseRecord(record.String() + "2026-01-02\tpassed\tspec\n")
		if err != nil || remainder != "2026-01-02\tpassed\tspec\n" || !reflect.DeepEqual(got, record) {
			t.Errorf("%s: reading the record: got %+v, text %q and error %v, want %+v", name, got, remainder, err, record)
		}
	}
	if _, _, err := parseRecord(recordPrefix + "\tyesterday\t1h\tabc\n"); err == nil || !strings.Contains(err.Error(), "start of the run") {
		t.Errorf("invalid start: got error %v, want one that names it", err)
	}
}

// TestDocumentHasRecord checks the row of runs of all specs.
func TestDocumentHasRecord(t *testing.T) {
	results := map[string]result{nodeSpec: {"2026-01-02", outcome{state: statePassed}}}
	record := newRecord([]string{nodeSpec}, map[string]outcome{nodeSpec: {state: statePassed}}, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), 90*time.Minute, "abc")
	text := documentText([]runtimeResults{{runtime: "containerd", specs: []string{nodeSpec}, results: results, record: record}, {runtime: "embedded", specs: []string{nodeSpec}, results: results}})
	if want := "| all specs in one run | one run on one cluster, started 2026-01-02 03:04 UTC, 1h30m0s, commit abc | not recorded |\n"; !strings.Contains(text, want) {
		t.Errorf("got document\n%s\nwant text with %q", text, want)
	}
}

// TestRecordIsRemovedByALaterRun checks that results that are merged into those of a complete run remove its record.
func TestRecordIsRemovedByALaterRun(t *testing.T) {
	record := newRecord(nil, nil, time.Now(), time.Hour, "abc")
	data := record.String() + formatResults([]string{nodeSpec}, map[string]result{nodeSpec: {"2026-01-02", outcome{state: statePassed}}})
	path := t.TempDir() + "/embedded.txt"
	if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
		t.Fatal(err)
	}
	results, err := readResults(path)
	if err != nil || len(results) != 1 {
		t.Fatalf("reading results with a record: got %v and error %v, want one result", results, err)
	}
	if err := writeResults(path, []string{nodeSpec}, results, nil); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(path); err != nil || strings.Contains(string(data), recordPrefix) || !strings.Contains(string(data), nodeSpec) {
		t.Errorf("after a later run: got %q and error %v, want the results without a record", data, err)
	}
}

func TestCommitOf(t *testing.T) {
	if _, err := commitOf(t.TempDir() + "/absent"); err == nil {
		t.Error("commit of a file that does not exist: got no error, want one")
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if commit, err := commitOf(program); err != nil || commit == "" {
		t.Errorf("commit of the test: got %q and error %v, want a commit or unknown", commit, err)
	}
}
