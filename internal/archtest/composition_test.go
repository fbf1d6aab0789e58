package archtest

import (
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestCompositionNamesExist checks that every test and scenario exists that
// docs/reference/mixed-components.md refers to.
func TestCompositionNamesExist(t *testing.T) {
	root := filepath.Join("..", "..")
	text, err := os.ReadFile(filepath.Join(root, "docs", "reference", "mixed-components.md"))
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]bool{}
	for _, f := range parseModule(t) {
		for _, d := range f.ast.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && f.test && strings.HasPrefix(fn.Name.Name, "Test") {
				tests[fn.Name.Name] = true
			}
		}
	}
	references := 0
	for _, m := range regexp.MustCompile("`(Test[A-Za-z]+|[a-z0-9-]+\\.txt)`").FindAllStringSubmatch(string(text), -1) {
		references++
		if name := m[1]; strings.HasPrefix(name, "Test") {
			if !tests[name] {
				t.Errorf("there is no test %s", name)
			}
		} else if _, err := os.Stat(filepath.Join(root, "scenarios", name)); err != nil {
			t.Errorf("there is no scenario %s", name)
		}
	}
	if references < 30 {
		t.Errorf("only %d names were found: the pattern is broken", references)
	}
}
