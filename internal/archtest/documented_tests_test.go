package archtest

import (
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestDocumentedTestsExist checks that every test and scenario exists that documents refer to as evidence.
func TestDocumentedTestsExist(t *testing.T) {
	root := filepath.Join("..", "..")
	var text []byte
	for _, file := range []string{"reference/mixed-components.md", "reference/software.md", "guides/share-a-cluster.md"} {
		content, err := os.ReadFile(filepath.Join(root, "docs", file))
		if err != nil {
			t.Fatal(err)
		}
		text = append(text, content...)
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
	if references < 45 {
		t.Errorf("only %d names were found: the pattern is broken", references)
	}
}
