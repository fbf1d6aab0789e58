package archtest

import (
	"go/ast"
	"slices"
	"testing"
)

const (
	maxFileLines     = 700
	maxFuncLines     = 60
	maxTestFuncLines = 80
	maxMedianLines   = 200
)

func TestFilesAreShort(t *testing.T) {
	var lines []int
	for _, f := range parseModule(t) {
		if f.generated {
			continue
		}
		if !f.test {
			lines = append(lines, f.lines)
		}
		if f.lines > maxFileLines {
			t.Errorf("%s/%s has %d lines, more than %d: split it by topic", f.pkg, f.name, f.lines, maxFileLines)
		}
	}
	slices.Sort(lines)
	if m := lines[len(lines)/2]; m > maxMedianLines {
		t.Errorf("the median file has %d lines, more than %d", m, maxMedianLines)
	}
}

func TestFunctionsAreShort(t *testing.T) {
	for _, f := range parseModule(t) {
		if f.generated {
			continue
		}
		limit := maxFuncLines
		if f.test {
			limit = maxTestFuncLines
		}
		for _, d := range f.ast.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Body == nil {
				continue
			}
			n := f.fset.Position(fn.End()).Line - f.fset.Position(fn.Pos()).Line + 1
			if n > limit {
				t.Errorf("%s: %s has %d lines, more than %d", f.position(fn.Pos()), fn.Name.Name, n, limit)
			}
		}
	}
}
