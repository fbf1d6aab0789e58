package archtest

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// tableRow is a line of ARCHITECTURE.md's table of rooms.
type tableRow struct {
	layer       int
	components  []string
	description string
}

// readArchitectureTable reads that table.
func readArchitectureTable(t *testing.T) (out []tableRow) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "ARCHITECTURE.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?m)^\| ([0-9]|-) \| ([^|]*) \| (.*) \|$`).FindAllStringSubmatch(string(text), -1) {
		r := tableRow{layer: 9, description: m[3]}
		if n, err := strconv.Atoi(m[1]); err == nil {
			r.layer = n
		}
		for name := range strings.FieldsSeq(m[2]) {
			r.components = append(r.components, strings.Trim(name, "`/"))
		}
		out = append(out, r)
	}
	if len(out) < 20 {
		t.Fatalf("only %d rows were found: the pattern is broken", len(out))
	}
	return out
}

// TestArchitectureListsComponents holds that the table has all rooms that there are, with their ranks, and no others.
func TestArchitectureListsComponents(t *testing.T) {
	named := map[string]bool{}
	for _, r := range readArchitectureTable(t) {
		for _, name := range r.components {
			dir := filepath.Join("..", "..", name)
			if info, err := os.Stat(dir); err != nil || !info.IsDir() {
				t.Errorf("ARCHITECTURE.md has the room %s, and there is no such folder", name)
			}
			component := componentOf(name)
			named[component] = true
			if !isModule(dir) && (component == "" || layers[component] != r.layer) {
				t.Errorf("ARCHITECTURE.md gives %s rank %d, which ranks.go does not", name, r.layer)
			}
		}
	}
	for component, rank := range layers {
		if !named[component] {
			t.Errorf("ranks.go has the room %s of rank %d, and ARCHITECTURE.md no line for it", component, rank)
		}
	}
}

// TestArchitectureListsSubfolders holds that a room's line names the folders in it.
func TestArchitectureListsSubfolders(t *testing.T) {
	does := map[string]string{}
	for _, r := range readArchitectureTable(t) {
		for _, name := range r.components {
			does[name] = r.description
		}
	}
	for _, f := range parseModule(t) {
		if f.name != "doc.go" { // one a package
			continue
		}
		line, ok := does[componentOf(f.pkg)]
		rest, below := strings.CutPrefix(f.pkg, componentOf(f.pkg)+"/")
		if folder, _, _ := strings.Cut(rest, "/"); ok && below && layers[componentOf(f.pkg)] < 9 && !strings.Contains(line, "`"+folder+"`") && !strings.Contains(line, "`"+folder+"/`") {
			t.Errorf("ARCHITECTURE.md's line for %s does not name %s", componentOf(f.pkg), folder)
		}
	}
}
