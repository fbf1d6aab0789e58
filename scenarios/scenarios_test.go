package scenarios

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/berthproject/berth/sim/script"
)

var rewrite = flag.Bool("rewrite", false, "rewrite the recorded timelines")

func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios found (%v)", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(file, ".txt"), func(t *testing.T) { checkScenario(t, file) })
	}
}

// checkScenario checks the expectations and the timeline of a scenario, or rewrites the timeline with -rewrite.
func checkScenario(t *testing.T, file string) {
	s := read(t, file)
	result := run(t, s)
	if err := result.Err(); err != nil {
		t.Error(err)
	}
	if s.Expectations() == 0 {
		t.Errorf("%s has no expectation", file)
	}
	var lines []string
	for _, l := range result.Timeline {
		lines = append(lines, strings.TrimRight(l.String(), " "))
	}
	if *rewrite {
		record(t, s, lines)
		return
	}
	if !slices.Equal(lines, s.Recorded) {
		t.Errorf("the timeline differs from the recorded one (go test ./scenarios -rewrite updates it):\n%s", difference(s.Recorded, lines))
	}
}

// difference returns the first different line of both lists.
func difference(want, got []string) string {
	for i := range max(len(want), len(got)) {
		line := func(list []string) string {
			if i < len(list) {
				return list[i]
			}
			return "(end)"
		}
		if line(want) != line(got) {
			return "- " + line(want) + "\n+ " + line(got)
		}
	}
	return ""
}

// record writes the scenario with its timeline.
func record(t *testing.T, s *script.Scenario, lines []string) {
	text := strings.Join(s.Lines, "\n") + "\n" + script.Separator + "\n" + strings.Join(lines, "\n") + "\n"
	if err := os.WriteFile(s.File, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
