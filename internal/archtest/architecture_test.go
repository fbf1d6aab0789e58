package archtest

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the table of components into ARCHITECTURE.md")

const (
	tableStart = "<!-- components: go test ./internal/archtest -update -->\n"
	tableEnd   = "<!-- end of components -->\n"
)

// componentTable formats components as a Markdown table, as ARCHITECTURE.md has it.
func componentTable() string {
	var b strings.Builder
	b.WriteString("| layer | package | purpose |\n| --- | --- | --- |\n")
	for _, c := range components {
		layer := "-"
		if c.layer != unlayered {
			layer = fmt.Sprint(c.layer)
		}
		fmt.Fprintf(&b, "| %s | `%s/` | %s |\n", layer, c.path, c.purpose)
	}
	return b.String()
}

// TestArchitectureTable checks that ARCHITECTURE.md shows components, and that each component exists.
func TestArchitectureTable(t *testing.T) {
	root := filepath.Join("..", "..")
	for _, c := range components {
		if info, err := os.Stat(filepath.Join(root, c.path)); err != nil || !info.IsDir() {
			t.Errorf("components.go lists %s, which is not a directory", c.path)
		}
	}
	name := filepath.Join(root, "ARCHITECTURE.md")
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	prefix, remainder, hasStart := strings.Cut(string(text), tableStart)
	table, suffix, hasEnd := strings.Cut(remainder, tableEnd)
	if !hasStart || !hasEnd {
		t.Fatalf("ARCHITECTURE.md lacks the markers %q and %q", tableStart, tableEnd)
	}
	if table == componentTable() {
		return
	}
	if !*update {
		t.Fatalf("the table of components in ARCHITECTURE.md is out of date: run go test ./internal/archtest -update")
	}
	if err := os.WriteFile(name, []byte(prefix+tableStart+componentTable()+tableEnd+suffix), 0o644); err != nil {
		t.Fatal(err)
	}
}
