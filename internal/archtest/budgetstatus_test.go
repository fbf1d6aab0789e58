package archtest

import (
	"go/ast"
	"slices"
	"testing"
)

// disruptedPodsWriters are the packages that may change disruptedPods, with the reasons.
var disruptedPodsWriters = map[string]string{
	"internal/budgetstatus": "computed status, debits and refunds",
	"sim/script":            "a scenario sets a status",
}

// TestOneWriterOfDisruptedPods checks that all other code debits disruption budgets with internal/budgetstatus.
func TestOneWriterOfDisruptedPods(t *testing.T) {
	used := map[string]bool{}
	for _, f := range parseModule(t) {
		if f.test || f.generated || layers[componentOf(f.pkg)] == unlayered {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if !changesDisruptedPods(n) {
				return true
			}
			used[f.pkg] = true
			if disruptedPodsWriters[f.pkg] == "" {
				t.Errorf("%s changes disruptedPods: use internal/budgetstatus", f.position(n.Pos()))
			}
			return true
		})
	}
	for pkg, reason := range disruptedPodsWriters {
		if !used[pkg] {
			t.Errorf("%s no longer changes disruptedPods (%s): remove it from the list", pkg, reason)
		}
	}
}

// changesDisruptedPods reports whether a node assigns to the field DisruptedPods or to an entry of it, sets it in a
// literal, or deletes entries.
func changesDisruptedPods(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.AssignStmt:
		for _, target := range n.Lhs {
			if entry, ok := target.(*ast.IndexExpr); ok {
				target = entry.X
			}
			if isDisruptedPods(target) {
				return true
			}
		}
	case *ast.KeyValueExpr:
		key, ok := n.Key.(*ast.Ident)
		return ok && key.Name == "DisruptedPods"
	case *ast.CallExpr:
		return slices.Contains([]string{"delete", "clear", "Copy", "DeleteFunc"}, functionName(n)) && len(n.Args) > 0 && isDisruptedPods(n.Args[0])
	}
	return false
}

// functionName returns the name of the called function, without its package.
func functionName(call *ast.CallExpr) string {
	switch f := call.Fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		return f.Sel.Name
	}
	return ""
}

func isDisruptedPods(e ast.Expr) bool {
	sel, ok := e.(*ast.SelectorExpr)
	return ok && sel.Sel.Name == "DisruptedPods"
}
