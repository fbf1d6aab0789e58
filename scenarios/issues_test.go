package scenarios

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// issues are the issues of kubernetes/kubernetes whose behavior scenarios reproduce.
var issues = []string{"31778", "41032", "43916", "51835", "54368", "54525", "66811", "72320", "74947", "76325", "80389", "90794", "91492", "94245", "101674", "102993", "106419", "108982", "113891", "117065", "118172", "121809", "138372", "139205"}

// TestEveryIssueHasAScenario checks that each scenario starts with a description and that each issue is named in one.
func TestEveryIssueHasAScenario(t *testing.T) {
	files, err := filepath.Glob("*.txt")
	if err != nil {
		t.Fatal(err)
	}
	var descriptions strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(string(text), "# ") {
			t.Errorf("%s: the description is missing", file)
		}
		for line := range strings.Lines(string(text)) {
			if !strings.HasPrefix(line, "#") {
				break
			}
			descriptions.WriteString(strings.NewReplacer(",", " ", ":", " ").Replace(line))
		}
	}
	words := strings.Fields(descriptions.String())
	for _, issue := range issues {
		if !slices.Contains(words, "#"+issue) {
			t.Errorf("no scenario's description names #%s", issue)
		}
	}
}
