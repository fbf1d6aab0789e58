package main

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/berthproject/berth/internal/testkit/reference"
)

const (
	nodeSpec   = "[sig-node] Pods should be (a) b [Conformance]"
	appsSpec   = "[sig-apps] Job should run [Conformance]"
	serialSpec = "[sig-apps] DaemonSet [Serial] should run [Conformance]"
)

func TestConformanceReference(t *testing.T) {
	text, err := readDocument("results")
	if err != nil {
		t.Fatal(err)
	}
	reference.Check(t, "conformance.md", text)
}

func TestSpecNames(t *testing.T) {
	got, err := parseSpecNames([]byte("- codename: '[sig-b] x\n    y [Conformance]'\n- codename: '[sig-a] z [Conformance]'\n- codename: '[sig-a] z [Conformance]'\n"))
	if want := []string{"[sig-a] z [Conformance]", "[sig-b] x y [Conformance]"}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %q (error %v), want %q", got, err, want)
	}
}

func TestSelectSpecs(t *testing.T) {
	all := []string{appsSpec, serialSpec, nodeSpec}
	if got, err := selectSpecs(all, "sig-apps", "Serial"); err != nil || !reflect.DeepEqual(got, []string{appsSpec}) {
		t.Errorf("got %q (error %v), want only %q", got, err, appsSpec)
	}
	for _, c := range [][2]string{{"(", ""}, {"", "("}, {"sig-none", ""}} {
		if _, err := selectSpecs(all, c[0], c[1]); err == nil || !strings.Contains(err.Error(), "-focus") && !strings.Contains(err.Error(), "-skip") {
			t.Errorf("focus %q, skip %q: got error %v, want one with the flag", c[0], c[1], err)
		}
	}
}

// TestSplitBatches checks that specs that must run alone are in the last batch.
func TestSplitBatches(t *testing.T) {
	all := []string{serialSpec, nodeSpec, appsSpec}
	got, err := splitBatches(all, "")
	if want := []batch{{"apps", []string{appsSpec}}, {"node", []string{nodeSpec}}, {"serial", []string{serialSpec}}}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v (error %v), want %+v", got, err, want)
	}
	if got, err = splitBatches(all, "serial,node"); err != nil || len(got) != 2 || got[0].name != "serial" {
		t.Errorf("got %+v (error %v), want serial and node", got, err)
	}
	if _, err = splitBatches(all, "nodes"); err == nil || !strings.Contains(err.Error(), "apps, node, serial") {
		t.Errorf("got error %v, want one with the batches", err)
	}
}

// TestQuickBatch checks that the specs of quickBatch exist, are not expected to fail and may run at the same time.
func TestQuickBatch(t *testing.T) {
	all, err := readAllResults("results", func(runtime string) string { return runtime })
	if err != nil {
		t.Fatal(err)
	}
	got, err := splitBatches(all[0].specs, quickBatch)
	if err != nil || len(got) != 1 || len(got[0].specs) != 20 {
		t.Fatalf("got %+v (error %v), want 20 specs", got, err)
	}
	for _, s := range got[0].specs {
		if mustRunAlone(s) || expectedReason("embedded", s)+expectedReason("containerd", s) != "" {
			t.Errorf("%s: must run at the same time as others and must not be expected to fail", s)
		}
	}
	if got, err = splitBatches([]string{nodeSpec, quickSpecs[2]}, quickBatch); err != nil || !reflect.DeepEqual(got, []batch{{quickBatch, quickSpecs[2:3]}}) {
		t.Errorf("got %+v (error %v), want the selected spec", got, err)
	}
	if _, err = splitBatches([]string{nodeSpec}, quickBatch); err == nil || !strings.Contains(err.Error(), "-focus") {
		t.Errorf("got error %v for no spec, want one with the flags", err)
	}
}

func TestFocusOf(t *testing.T) {
	focus := regexp.MustCompile(focusOf([]string{nodeSpec, appsSpec}))
	if !focus.MatchString(nodeSpec) || !focus.MatchString(appsSpec) || focus.MatchString(serialSpec) || focus.MatchString(nodeSpec+" twice") {
		t.Errorf("%s: want a match of %q and %q only", focus, nodeSpec, appsSpec)
	}
}

// TestBuiltProgram checks that built programs are reused, e2e.test only if it has the version of the suite.
func TestBuiltProgram(t *testing.T) {
	dir := t.TempDir()
	script := func(version string) {
		if err := os.WriteFile(filepath.Join(dir, "e2e.test"), []byte("#!/bin/sh\necho "+version+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if path, err := builtProgram(t.Context(), "", "e2e.test"); path != "" || err != nil {
		t.Errorf("got %q (error %v) without -programs, want none", path, err)
	}
	if path, err := builtProgram(t.Context(), dir, "e2e.test"); path != "" || err != nil {
		t.Errorf("got %q (error %v) for a missing program, want none", path, err)
	}
	script(kubernetesVersion)
	if path, err := builtProgram(t.Context(), dir, "e2e.test"); path != filepath.Join(dir, "e2e.test") || err != nil {
		t.Errorf("got %q (error %v), want the program", path, err)
	}
	script("v1.2.3")
	if _, err := builtProgram(t.Context(), dir, "e2e.test"); err == nil || !strings.Contains(err.Error(), `"v1.2.3": must be `+kubernetesVersion) {
		t.Errorf("got error %v, want one with both versions", err)
	}
}

func TestParseReport(t *testing.T) {
	report := `[{"SpecReports": [
		{"ContainerHierarchyTexts": ["[sig-node] Pods"], "LeafNodeText": "should be (a) b [Conformance]", "State": "passed"},
		{"ContainerHierarchyTexts": ["[sig-apps] Job"], "LeafNodeText": "should run [Conformance]", "State": "failed", "Failure": {"Message": "two\n  lines"}},
		{"ContainerHierarchyTexts": ["other"], "LeafNodeText": "spec", "State": "passed"},
		{"ContainerHierarchyTexts": ["[sig-apps] DaemonSet [Serial]"], "LeafNodeText": "should run [Conformance]", "State": "skipped"}]}]`
	got, err := parseReport([]byte(report), []string{nodeSpec, appsSpec, serialSpec})
	want := map[string]outcome{nodeSpec: {state: statePassed}, appsSpec: {state: stateFailed, message: "two lines"},
		serialSpec: {state: "missing", message: "the batch ended before the spec ran"}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v (error %v), want %+v", got, err, want)
	}
}

func TestResultsAreReadAsWritten(t *testing.T) {
	results := map[string]result{nodeSpec: {"2026-01-02", outcome{state: statePassed, retried: true}}, appsSpec: {"2026-01-03", outcome{state: "timedout", message: "a <b>"}}}
	got, err := parseResults(formatResults([]string{appsSpec, nodeSpec, serialSpec}, results))
	if err != nil || !reflect.DeepEqual(got, results) {
		t.Errorf("got %+v (error %v), want %+v", got, err, results)
	}
	if _, err := parseResults("2026-01-02 passed\n"); err == nil || !strings.Contains(err.Error(), "line 1") {
		t.Errorf("got error %v, want one with the line", err)
	}
}

func TestDocument(t *testing.T) {
	text := documentText([]runtimeResults{{runtime: "embedded", specs: []string{appsSpec, serialSpec, nodeSpec}, results: map[string]result{
		nodeSpec: {"2026-01-02", outcome{state: statePassed, retried: true}}, appsSpec: {"2026-01-03", outcome{state: stateFailed, message: "a <b>"}}}}})
	for _, want := range []string{"| apps | 0 of 2, 1 not run |", "| node | 1 of 1 |", "| all | 1 of 3, 1 not run |", "| date of the run | 2026-01-02 to 2026-01-03 |",
		"| passed only alone | 1 |", "| " + appsSpec + " | Not explained yet. The suite reports: a &lt;b&gt; |"} {
		if !strings.Contains(text, want) {
			t.Errorf("got document %s\nwant text with %q", text, want)
		}
	}
}

func TestParseLibraries(t *testing.T) {
	got := parseLibraries("\tlinux-vdso.so.1 (0x0)\n\tlibc.so.6 => /lib/x/libc.so.6 (0x1)\n\t/lib64/ld.so.2 (0x2)\n")
	if want := []string{"/lib/x/libc.so.6", "/lib64/ld.so.2"}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestPrintProgress checks the output of ginkgo with several processes and with one.
func TestPrintProgress(t *testing.T) {
	labels := " [sig-node, Conformance]\n"
	want := "[1/2] passed     2.5s " + nodeSpec + "\n[2/2] failed     0.1s " + appsSpec + "\n"
	for name, output := range map[string]string{
		"several processes": "• [2.5 seconds]\n" + nodeSpec + labels + "------\n• [FAILED] [0.1 seconds]\n" + appsSpec + labels + "------\n",
		"one process": nodeSpec + labels + "a line\n• [2.5 seconds]\n------\n" + appsSpec + labels + "a line\n" +
			"• [FAILED] [0.1 seconds]\n" + appsSpec + labels + "------\n",
	} {
		var b strings.Builder
		ended := printProgress(strings.NewReader(output), &b, []string{nodeSpec, appsSpec})
		if b.String() != want {
			t.Errorf("%s: got\n%swant\n%s", name, b.String(), want)
		}
		if want := (map[string]outcome{nodeSpec: {state: statePassed}, appsSpec: {state: stateFailed}}); !reflect.DeepEqual(ended, want) {
			t.Errorf("%s: got %+v, want %+v", name, ended, want)
		}
	}
}

func TestSpecOf(t *testing.T) {
	short := strings.TrimSuffix(nodeSpec, " [Conformance]")
	specs := []string{appsSpec, nodeSpec, short}
	for line, want := range map[string]string{nodeSpec: nodeSpec, nodeSpec + " [sig-node, Conformance]": nodeSpec, short + " [sig-node]": short,
		"[sig-node] Pods [It] should be (a) b [Conformance] [sig-node, Conformance]": nodeSpec, short + "c [sig-node]": "", "a line": ""} {
		if got := specOf(line, specs); got != want {
			t.Errorf("specOf(%q) = %q, want %q", line, got, want)
		}
	}
}
