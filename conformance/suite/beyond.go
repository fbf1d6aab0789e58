package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// beyondBatch is the name of the batches with specs beyond conformance.
const beyondBatch = "beyond"

// beyondFile returns the name of the results of these specs, without extension.
func beyondFile(runtime string) string { return beyondBatch + "-" + runtime }

// specGroup is a set of specs, most of which are not part of conformance.
type specGroup struct {
	name  string
	title string // title in the document
	match *regexp.Regexp
}

// beyondGroups are the groups of beyondBatch. A spec is in at most one group.
var beyondGroups = []specGroup{
	{"node", "[sig-node] with [NodeConformance]", regexp.MustCompile(`^\[sig-node\].*\[NodeConformance\]`)},
	{"scheduling", "[sig-scheduling]", regexp.MustCompile(`^\[sig-scheduling\]`)},
	{"services", "[sig-network] Services", regexp.MustCompile(`^\[sig-network\] Services `)},
	{"dns", "[sig-network] DNS", regexp.MustCompile(`^\[sig-network\] DNS `)},
}

// optionalFeature matches specs that require a feature or a feature gate that not every cluster has.
var optionalFeature = regexp.MustCompile(`\[(Feature|FeatureGate):|\[(Alpha|Beta|Deprecated|Flaky)\]`)

// groupOf returns the name of the spec's group, or "".
func groupOf(spec string) string {
	for _, g := range beyondGroups {
		if g.match.MatchString(spec) && !optionalFeature.MatchString(spec) {
			return g.name
		}
	}
	return ""
}

// isConformance reports whether the spec is part of conformance.
func isConformance(spec string) bool { return strings.HasSuffix(spec, "[Conformance]") }

// beyondNames returns the specs of all groups that are not part of conformance, sorted.
func beyondNames(ctx context.Context, t *toolset) ([]string, error) {
	path := filepath.Join(t.dir, "specs.json")
	cmd := exec.CommandContext(ctx, t.e2e, "--ginkgo.dry-run", "--ginkgo.json-report", path)
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("listing the specs of the suite: %w: %s", err, lastLine(string(out)))
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return parseBeyondNames(data)
}

// parseBeyondNames reads ginkgo's report of a dry run.
func parseBeyondNames(data []byte) ([]string, error) {
	var suites []specReports
	if err := json.Unmarshal(data, &suites); err != nil {
		return nil, fmt.Errorf("reading ginkgo's report: %w", err)
	}
	var names []string
	for _, suite := range suites {
		for i := range suite.SpecReports {
			if name := suite.SpecReports[i].name(); groupOf(name) != "" && !isConformance(name) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// lastLine returns the last line of a text that is not empty.
func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndexByte(text, '\n')+1:]
}

// beyondText returns the document's section about the groups. conformance holds the results of the conformance specs,
// which the counts of a group include.
func beyondText(conformance, beyond []runtimeResults) string {
	if len(beyond) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("\n## Beyond conformance\n\n`make conformance BATCH=" + beyondBatch + "` runs all specs of these groups that are not part of conformance. Specs that require\n" +
		"a feature or a feature gate are not in the groups. Passed specs, with those of conformance, of all specs of a group:\n\n| specs |")
	for i := range beyond {
		fmt.Fprintf(&b, " %s |", beyond[i].runtime)
	}
	b.WriteString("\n| --- |" + strings.Repeat(" --- |", len(beyond)) + "\n")
	for _, g := range beyondGroups {
		fmt.Fprintf(&b, "| %s |", g.title)
		for i := range beyond {
			fmt.Fprintf(&b, " %s |", groupCell(g.name, &beyond[i], conformance))
		}
		b.WriteString("\n")
	}
	b.WriteString("| date of the run |")
	for i := range beyond {
		fmt.Fprintf(&b, " %s |", beyond[i].dates())
	}
	b.WriteString("\n")
	for i := range beyond {
		b.WriteString(beyond[i].failures("Not passed beyond conformance on"))
	}
	return b.String()
}

// groupCell returns the number of passed and of all specs of a group.
func groupCell(group string, beyond *runtimeResults, conformance []runtimeResults) string {
	passed, skipped, missing, total := 0, 0, 0, 0
	count := func(r *runtimeResults) {
		for _, s := range r.specs {
			if groupOf(s) != group {
				continue
			}
			total++
			switch result, ok := r.results[s]; {
			case !ok:
				missing++
			case result.state == statePassed:
				passed++
			case result.state == stateSkipped:
				skipped++
			}
		}
	}
	count(beyond)
	for i := range conformance {
		if conformance[i].runtime == beyond.runtime {
			count(&conformance[i])
		}
	}
	text := fmt.Sprintf("%d of %d", passed, total)
	if skipped > 0 {
		text += fmt.Sprintf(", %d skipped by the suite", skipped)
	}
	if missing > 0 {
		text += fmt.Sprintf(", %d not run", missing)
	}
	return text
}
