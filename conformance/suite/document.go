package main

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// generatedLine is the first line of the document, as in all documents that a test compares.
const generatedLine = "<!-- Generated: go test ./conformance/suite -run TestConformanceReference -update -->\n"

// documentHead is the beginning of docs/reference/conformance.md.
const documentHead = "# Conformance\n\n" +
	"`make conformance` runs the specs of Kubernetes' conformance suite " + kubernetesVersion + " on a cluster of `berth up` with two virtual nodes. It\n" +
	"needs root, busybox and some network programs, but no registry: stand-ins replace the test images. Specs run four at a time,\n" +
	"specs marked [Serial] or [Disruptive] one at a time. A spec that fails is run again alone; its second result counts.\n\n" +
	"| variable | meaning |\n" +
	"| --- | --- |\n" +
	"| `FOCUS`, `SKIP` | regular expressions on the names of specs |\n" +
	"| `BATCH` | comma-separated names of SIGs, and `serial`; or `quick`: 20 specs of all SIGs; or `beyond` |\n" +
	"| `RUNTIME` | `embedded` (default) or `containerd` |\n" +
	"| `ARGS` | more flags: `-parallel`, `-keep`, `-update`, `-berth`, `-programs`, `-dir` |\n\n" +
	"A run of all specs, or of `beyond`, writes this page; a run of some specs does so with `ARGS=-update`.\n"

// documentText returns docs/reference/conformance.md without its first line.
func documentText(allResults []runtimeResults) string {
	var b strings.Builder
	b.WriteString(documentHead)
	if len(allResults) == 0 {
		b.WriteString("\nNo results are stored.\n")
		return b.String()
	}
	b.WriteString("\n## Results\n\nPassed specs of all specs of a SIG:\n\n| SIG |")
	for _, r := range allResults {
		fmt.Fprintf(&b, " %s |", r.runtime)
	}
	b.WriteString("\n| --- |" + strings.Repeat(" --- |", len(allResults)) + "\n")
	sigs := map[string]bool{}
	for _, r := range allResults {
		for _, s := range r.specs {
			sigs[sig(s)] = true
		}
	}
	for _, name := range append(sortedKeys(sigs), "all") {
		fmt.Fprintf(&b, "| %s |", name)
		for _, r := range allResults {
			fmt.Fprintf(&b, " %s |", r.cell(name))
		}
		b.WriteString("\n")
	}
	for _, row := range []struct {
		name string
		text func(runtimeResults) string
	}{
		{"date of the run", runtimeResults.dates},
		{"all specs in one run", func(r runtimeResults) string { return r.record.describe() }},
		{"passed only alone", func(r runtimeResults) string { return strconv.Itoa(r.countAlone()) }},
	} {
		fmt.Fprintf(&b, "| %s |", row.name)
		for _, r := range allResults {
			fmt.Fprintf(&b, " %s |", row.text(r))
		}
		b.WriteString("\n")
	}
	for _, r := range allResults {
		b.WriteString(r.failures("Failed on"))
	}
	return b.String()
}

// cell returns the number of passed and of all specs of a SIG, or of "all".
func (r runtimeResults) cell(name string) string {
	passed, run, total := 0, 0, 0
	for _, s := range r.specs {
		if name != "all" && sig(s) != name {
			continue
		}
		total++
		if result, ok := r.results[s]; ok {
			run++
			if result.state == statePassed {
				passed++
			}
		}
	}
	switch {
	case run == 0:
		return "not run"
	case run < total:
		return fmt.Sprintf("%d of %d, %d not run", passed, total, total-run)
	}
	return fmt.Sprintf("%d of %d", passed, total)
}

// dates returns the date of the results, or the first and the last one.
func (r runtimeResults) dates() string {
	var dates []string
	for _, result := range r.results {
		dates = append(dates, result.date)
	}
	if len(dates) == 0 {
		return ""
	}
	first, last := slices.Min(dates), slices.Max(dates)
	if first == last {
		return first
	}
	return first + " to " + last
}

// countAlone returns the number of specs that passed only in the second attempt, alone.
func (r runtimeResults) countAlone() int {
	n := 0
	for _, result := range r.results {
		if result.retried && result.state == statePassed {
			n++
		}
	}
	return n
}

// failures returns the section with the failed and skipped specs of a runtime, or "" if all passed.
func (r runtimeResults) failures(title string) string {
	var rows []string
	for _, s := range r.specs {
		result, ok := r.results[s]
		if !ok || result.state == statePassed {
			continue
		}
		reason := cmp.Or(expectedReason(r.runtime, s), "Not explained yet. The suite reports: "+cell(result.message))
		if result.state == stateSkipped {
			reason = "Skipped by the suite: " + cell(result.message)
		}
		rows = append(rows, fmt.Sprintf("| %s | %s |\n", cell(s), reason))
	}
	if len(rows) == 0 {
		return ""
	}
	return fmt.Sprintf("\n## %s %s\n\n| spec | reason |\n| --- | --- |\n%s", title, r.runtime, strings.Join(rows, ""))
}

// cell escapes text for a cell of a table.
func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;", ">", "&gt;").Replace(text)
}
