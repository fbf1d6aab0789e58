package archtest

import (
	"go/ast"
	"testing"
)

// TestOnlyConversionNamesDisruptionTarget checks that only internal/conversion names the condition DisruptionTarget.
// All other code builds and reads it with the functions of that package.
func TestOnlyConversionNamesDisruptionTarget(t *testing.T) {
	found := false
	for _, f := range parseModule(t) {
		if f.test || f.generated || layers[componentOf(f.pkg)] == unlayered {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			named := false
			switch n := n.(type) {
			case *ast.SelectorExpr:
				x, ok := n.X.(*ast.Ident)
				named = ok && x.Name == "corev1" && n.Sel.Name == "DisruptionTarget"
			case *ast.BasicLit:
				named = n.Value == `"DisruptionTarget"`
			}
			switch {
			case !named:
			case f.pkg == "internal/conversion":
				found = true
			default:
				t.Errorf("%s names the condition DisruptionTarget: use internal/conversion", f.position(n.Pos()))
			}
			return true
		})
	}
	if !found {
		t.Error("internal/conversion does not name the condition DisruptionTarget: the pattern is broken")
	}
}
