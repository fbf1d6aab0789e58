package main

import (
	"context"
	"errors"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/berthproject/berth/internal/testkit/reference"
)

func TestSoftwareReference(t *testing.T) {
	results, err := readResults("results.txt")
	if err != nil {
		t.Fatal(err)
	}
	reference.Check(t, "software.md", documentText(results))
}

// TestSoftwareIsComplete checks what the compiler does not: names, images, regular expressions and manifests.
func TestSoftwareIsComplete(t *testing.T) {
	names := map[string]bool{}
	for _, s := range allSoftware {
		if names[s.name] || strings.ContainsAny(s.name, " /\t") || s.job == "" || len(s.programs) == 0 || len(s.checks) == 0 {
			t.Errorf("%q: must have a unique name without spaces, a job, programs and checks", s.name)
		}
		names[s.name] = true
		if !strings.HasPrefix(s.version, "v") || !strings.HasPrefix(s.sum, "h1:") {
			t.Errorf("%s: version %q and sum %q must begin with v and h1:", s.name, s.version, s.sum)
		}
		for _, p := range s.programs {
			if s.commands == "" {
				continue
			}
			if files, err := filepath.Glob(filepath.Join("testdata", p.pkg, "*.go")); err != nil || len(files) == 0 || !strings.HasPrefix(p.pkg, "./"+s.commands+"/") {
				t.Errorf("%s: the package %s of %s must have Go files in testdata/%s (error %v)", s.name, p.pkg, p.name, s.commands, err)
			}
		}
		for _, st := range slices.Concat(s.setup, s.checks) {
			if _, err := regexp.Compile(st.want); err != nil || st.does == "" || len(st.args) == 0 {
				t.Errorf("%s: step %+v: must have a description, arguments and a valid regular expression (error %v)", s.name, st, err)
			}
			for _, document := range strings.Split(st.input, "\n---\n") {
				var object map[string]any
				if err := yaml.Unmarshal([]byte(document), &object); err != nil {
					t.Errorf("%s: %s: %v in\n%s", s.name, st.does, err, document)
				}
			}
		}
	}
}

func TestSelectRuns(t *testing.T) {
	if got, err := selectRuns(""); err != nil || len(got) != len(allRuns()) {
		t.Errorf("got %d (error %v), want all", len(got), err)
	}
	if got, err := selectRuns("Kueue$"); err != nil || len(got) != 1 || got[0].name != "Kueue" || got[0].version != kueue.version {
		t.Errorf("got %+v (error %v), want Kueue", got, err)
	}
	if got, err := selectRuns("^Karpenter:pkg/apis"); err != nil || len(got) != 1 || got[0].name != "Karpenter:pkg/apis/v1" {
		t.Errorf("got %+v (error %v), want one suite of Karpenter", got, err)
	}
	for _, focus := range []string{"(", "none"} {
		if _, err := selectRuns(focus); err == nil || !strings.Contains(err.Error(), "-focus") {
			t.Errorf("focus %q: got error %v, want one with the flag", focus, err)
		}
	}
}

func TestParseSuite(t *testing.T) {
	failed := errors.New("exit status 1")
	for name, c := range map[string]struct {
		output string
		err    error
		want   result
	}{
		"passed":  {"Ran 3 of 4 Specs in 1.2 seconds\nSUCCESS! -- 3 Passed | 0 Failed | 0 Pending | 1 Skipped\n", nil, result{passed: 3, total: 3}},
		"failed":  {"  [FAIL] a b [It] c\n\nRan 3 of 3 Specs in 1.2 seconds\nFAIL! -- 2 Passed | 1 Failed\n", failed, result{passed: 2, total: 3, reason: "a b [It] c"}},
		"crashed": {"panic: x\n", failed, result{reason: "exit status 1"}},
		"empty":   {"Ran 0 of 3 Specs in 1.2 seconds\n", nil, result{reason: "no spec ran"}},
	} {
		got := parseSuite(c.output, c.err)
		got.date = ""
		if got != c.want {
			t.Errorf("%s: got %+v, want %+v", name, got, c.want)
		}
	}
}

func TestArguments(t *testing.T) {
	got := kubectl("", "apply -f {source}/a -f {source}/b").arguments("/x")
	if want := []string{"apply", "-f", "/x/a", "-f", "/x/b"}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestProblem(t *testing.T) {
	plain, printed, denied := kubectl("", "get x"), kubectl("", "get x").prints("^a b$"), kubectl("", "get x").mustFail("no .* left")
	failed := errors.New("exit status 1")
	for _, c := range []struct {
		step   step
		output string
		err    error
		want   string // part of the problem, or "" for none
	}{
		{plain, "anything", nil, ""},
		{plain, "reason\n", failed, "exit status 1: reason"},
		{printed, "a b\n", nil, ""},
		{printed, "a c", nil, `printed "a c", must match "^a b$"`},
		{printed, "a b", failed, "exit status 1"},
		{denied, "no quota left", failed, ""},
		{denied, "other", failed, "must match"},
		{denied, "created", nil, "must be denied"},
	} {
		err := c.step.problem(c.output, c.err)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v with output %q and error %v: got %v, want %q", c.step, c.output, c.err, err, c.want)
		}
	}
}

// TestRunSteps checks that a step without a wanted output runs once, others until they succeed, and that a failure ends the run.
func TestRunSteps(t *testing.T) {
	calls := map[string]int{}
	execute := func(_ context.Context, s step) (string, error) {
		calls[s.does]++
		if s.does == "fails" {
			return "why", errors.New("exit status 1")
		}
		return strings.Repeat("x", calls[s.does]), nil
	}
	s := software{setup: []step{kubectl("installs", "apply")}, checks: []step{kubectl("waits", "get").prints("xx"), kubectl("fails", "get"), kubectl("never", "get")}}
	r := runSteps(t.Context(), s, execute)
	if r.passed != 1 || r.total != 3 || r.reason != "fails: exit status 1: why" || !r.failed() {
		t.Errorf("got %+v, want 1 of 3 passed and the reason", r)
	}
	if want := map[string]int{"installs": 1, "waits": 2, "fails": 1}; !reflect.DeepEqual(calls, want) {
		t.Errorf("calls %v, want %v", calls, want)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if r = runSteps(ctx, software{checks: []step{kubectl("waits", "get").prints("never")}}, execute); r.passed != 0 || !strings.Contains(r.reason, "must match") {
		t.Errorf("got %+v for an ended context, want the last problem", r)
	}
}

func TestResultsAreReadAsWritten(t *testing.T) {
	results := map[string]result{
		"Kueue":                 {date: "2026-01-02", version: "v1", passed: 2, total: 2},
		"Gatekeeper":            {date: "2026-01-03", version: "v2", passed: 1, total: 2, reason: "a | b"},
		"Karpenter:pkg/apis/v1": {date: "2026-01-04", version: "v3", passed: 5, total: 6},
	}
	got, err := parseResults(formatResults(results))
	if err != nil || !reflect.DeepEqual(got, results) {
		t.Errorf("got %+v (error %v), want %+v", got, err, results)
	}
	for _, text := range []string{"Kueue\tv1\n", "Kueue\tv1\t2026-01-02\tx\t2\t\n"} {
		if _, err := parseResults(text); err == nil || !strings.Contains(err.Error(), "line 1") {
			t.Errorf("%q: got error %v, want one with the line", text, err)
		}
	}
	document := documentText(results)
	for _, want := range []string{"| Kueue | v1 | a queue admits a job | yes | 2 of 2 | 2026-01-02 |", `| no | 1 of 2 | 2026-01-03 | a \| b |`, "| not run |", "| Karpenter v3 | pkg/apis/v1 | 5 of 6 | 2026-01-04 |"} {
		if !strings.Contains(document, want) {
			t.Errorf("the document lacks %q:\n%s", want, document)
		}
	}
}
