package main

import (
	"cmp"
	"fmt"
	"strings"
)

// generatedLine is the first line of the document, as in all documents that a test compares.
const generatedLine = "<!-- Generated: go test ./conformance/software -run TestSoftwareReference -update -->\n"

// documentHead is the beginning of docs/reference/software.md.
const documentHead = "# Software on Berth\n\n" +
	"`make software` installs software of other projects on `berth up` with two virtual nodes and checks that it does its main job. The\n" +
	"programs are built from the projects' Go modules without changes, unless the remarks say otherwise, and installed from the\n" +
	"manifests in these modules. Each runs on a separate cluster. The command needs root and busybox, but no registry: it packs the\n" +
	"images itself.\n\n" +
	"| variable | meaning |\n" +
	"| --- | --- |\n" +
	"| `FOCUS` | regular expression on the names of software, and of suites (`Karpenter:pkg/apis/v1`) |\n" +
	"| `ARGS` | more flags: `-keep`, `-update`, `-berth`, `-programs`, `-dir` |\n\n" +
	"A run of all software and suites writes this page; a run of some does so with `ARGS=-update`.\n"

// kubeStateMetricsText is the section about kube-state-metrics, which a test replaces.
const kubeStateMetricsText = "\n## kube-state-metrics\n\n" +
	"kube-state-metrics is not installed: its Go module could not be downloaded. The test `TestKubeStateMetrics` in `e2e/` replaces\n" +
	"it. A service account that may only list and watch, as the program's ClusterRole grants, runs reflectors of client-go. They watch\n" +
	"the 28 resources that the program watches by default, and endpoints. Each reflector receives the objects that exist, and an object that\n" +
	"is created, updated and deleted, from one watch and without a failed request. The test does not check the program's metrics.\n"

// documentText returns docs/reference/software.md without its first line.
func documentText(results map[string]result) string {
	var b strings.Builder
	b.WriteString(documentHead)
	b.WriteString("\n## Results\n\n| software | version | main job | works | checks | date | remarks |\n| --- | --- | --- | --- | --- | --- | --- |\n")
	for _, s := range allSoftware {
		r, ok := results[s.name]
		works, checks := "yes", fmt.Sprintf("%d of %d", r.passed, r.total)
		switch {
		case !ok:
			works, checks = "not run", ""
		case r.failed():
			works = "no"
		}
		remarks := strings.TrimSpace(s.remark + " " + escape(r.reason))
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s |\n", s.name, cmp.Or(r.version, s.version), s.job, works, checks, r.date, remarks)
	}
	b.WriteString(suitesText(results))
	b.WriteString(kubeStateMetricsText)
	for _, s := range allSoftware {
		fmt.Fprintf(&b, "\n## %s\n\nModule `%s`. Checks, in this order:\n\n", s.name, s.module)
		for _, c := range s.checks {
			fmt.Fprintf(&b, "- %s\n", c.does)
		}
	}
	return b.String()
}

// suitesText returns the section with the results of suites.
func suitesText(results map[string]result) string {
	var b strings.Builder
	b.WriteString("\n## Test suites\n\nSuites of these projects that use [envtest](https://book.kubebuilder.io/reference/envtest), with `berth server` as API server:\n\n" +
		"| software | package | passed specs | date | failed specs |\n| --- | --- | --- | --- | --- |\n")
	for _, s := range allSoftware {
		for _, pkg := range s.suites {
			passed := "not run"
			r, ok := results[s.suiteName(pkg)]
			if ok {
				passed = fmt.Sprintf("%d of %d", r.passed, r.total)
			}
			fmt.Fprintf(&b, "| %s %s | %s | %s | %s | %s |\n", s.name, cmp.Or(r.version, s.version), pkg, passed, r.date, escape(r.reason))
		}
	}
	return b.String()
}

// escape escapes text for a cell of a table.
func escape(text string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;", ">", "&gt;").Replace(text)
}
