//go:build linux

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const report = `[{"SpecReports": [
{"LeafNodeType": "BeforeSuite", "State": "passed"},
{"ContainerHierarchyTexts": ["[k8s.io] Container", "runtime should stop"], "LeafNodeType": "It", "LeafNodeText": "a container [Conformance]", "State": "passed"},
{"ContainerHierarchyTexts": ["[k8s.io] Container"], "LeafNodeType": "It", "LeafNodeText": "with | a bar", "State": "failed", "Failure": {"Message": "Expected\n|<nil>"}},
{"ContainerHierarchyTexts": ["[k8s.io] Security Context"], "LeafNodeType": "It", "LeafNodeText": "privileged", "State": "failed",
 "Failure": {"Message": "rpc error: code = InvalidArgument desc = the embedded runtime does not support securityContext.privileged: root access; use containerd\nmore"}},
{"ContainerHierarchyTexts": ["[k8s.io] AppArmor"], "LeafNodeType": "It", "LeafNodeText": "applies", "State": "skipped", "Failure": {"Message": "AppArmor is disabled"}},
{"ContainerHierarchyTexts": ["[k8s.io] benchmark"], "LeafNodeType": "It", "LeafNodeText": "not selected", "State": "skipped"}]}]`

// TestReadReport checks the results of a report, and the document with the results.
func TestReadReport(t *testing.T) {
	file := filepath.Join(t.TempDir(), "report.json")
	if err := os.WriteFile(file, []byte(report), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := readReport(file)
	if err != nil {
		t.Fatal(err)
	}
	want := []result{
		{"Container", "runtime should stop a container", passed, ""},
		{"Container", "with | a bar", failed, "Expected"},
		{"Security Context", "privileged", refused, "securityContext.privileged"},
		{"AppArmor", "applies", skipped, "AppArmor is disabled"},
	}
	if len(got) != len(want) {
		t.Fatalf("got results %v, want %v", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("result %d: got %+v, want %+v", i, got[i], want[i])
		}
	}
	text := document("v1.36.0", "6.1.0", "v2", time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC), []run{{runtime: "embedded", version: "1", results: got}})
	for _, line := range []string{"Run 2026-01-02 on Linux 6.1.0, cgroups v2", "| embedded 1 | Container | 1 | 1 | 0 | 0 | 50 % |", "| embedded 1 | **all** | 1 | 1 | 1 | 1 | 50 % |",
		"| Security Context | privileged | securityContext.privileged |", `| Container | with \| a bar | Expected |`, "| AppArmor | applies | AppArmor is disabled |"} {
		if !strings.Contains(text, line) {
			t.Errorf("got document %s\nwant the line %q", text, line)
		}
	}
}

// TestFailedSetup checks that the report of a suite that fails before its specs is an error.
func TestFailedSetup(t *testing.T) {
	file := filepath.Join(t.TempDir(), "report.json")
	text := `[{"SpecReports": [{"LeafNodeType": "BeforeSuite", "State": "failed", "Failure": {"Message": "no connection"}}]}]`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readReport(file); err == nil || !strings.Contains(err.Error(), "no connection") {
		t.Errorf("got error %v, want the failure of the setup", err)
	}
}
