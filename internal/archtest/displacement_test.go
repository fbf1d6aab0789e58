package archtest

import (
	"go/ast"
	"slices"
	"testing"
)

// displacementCalls lists the requests and the functions that displace pods, as the methods that a function calls. Each
// has the packages that may call it and the reason. All other code uses internal/displacer, so that each displacement
// respects the budgets and is recorded.
var displacementCalls = []struct {
	action  string
	methods []string
	allowed map[string]string
}{
	{"deletes pods", []string{"Pods", "Delete"}, map[string]string{
		"internal/displacer": "the displacement path", "controllers/workload": "scaling down is not a displacement",
		"agent": "pods that have stopped on their node", "controllers/podgc": "pods that have terminated"}},
	{"deletes pods", []string{"Pods", "DeleteCollection"}, nil},
	{"posts evictions", []string{"Evictions", "Evict"}, map[string]string{"executor": "the API server performs the displacement"}},
	{"posts evictions", []string{"Pods", "EvictV1"}, nil},
	{"writes the status of disruption budgets", []string{"PodDisruptionBudgets", "UpdateStatus"}, map[string]string{
		"internal/displacer": "the displacement path", "controllers/disruption": "it computes the status"}},
	{"writes the status of disruption budgets through the store of a displacement", []string{"UpdateBudget"}, map[string]string{
		"internal/displacer": "the displacement path"}},
	{"debits disruption budgets", []string{"budgetstatus.Debit"}, map[string]string{"internal/displacer": "the displacement path"}},
	{"refunds disruption budgets", []string{"budgetstatus.Refund"}, map[string]string{"internal/displacer": "the displacement path"}},
	{"sets the condition DisruptionTarget through the store of a displacement", []string{"SetCondition"}, map[string]string{"internal/displacer": "the displacement path"}},
	{"builds the condition DisruptionTarget", []string{"conversion.NewDisruptionTarget"}, map[string]string{
		"internal/displacer": "the displacement path", "agent": "a node evicts by itself", "sim/agent": "a node evicts by itself"}},
}

func TestOnlyDisplacerDisplacesPods(t *testing.T) {
	used := map[string]bool{}
	for _, f := range parseModule(t) {
		if f.test || layers[componentOf(f.pkg)] == unlayered {
			continue
		}
		for _, d := range f.ast.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			called := methodsIn(fn)
			for _, call := range displacementCalls {
				if !slices.ContainsFunc(call.methods, func(m string) bool { return !called[m] }) {
					allowed := false
					for component := range call.allowed {
						if inComponents(f.pkg, []string{component}) {
							allowed, used[call.action+component] = true, true
						}
					}
					if !allowed {
						t.Errorf("%s: %s %s: use internal/displacer", f.position(fn.Pos()), fn.Name.Name, call.action)
					}
				}
			}
		}
	}
	for _, call := range displacementCalls {
		for component, reason := range call.allowed {
			if !used[call.action+component] {
				t.Errorf("%s no longer %s (%s): remove it from the list", component, call.action, reason)
			}
		}
	}
}

// methodsIn returns the names of the methods and package functions that a function calls, the latter also with their
// packages.
func methodsIn(fn *ast.FuncDecl) map[string]bool {
	out := map[string]bool{}
	ast.Inspect(fn, func(n ast.Node) bool {
		if c, ok := n.(*ast.CallExpr); ok {
			if sel, ok := c.Fun.(*ast.SelectorExpr); ok {
				out[sel.Sel.Name] = true
				if pkg, ok := sel.X.(*ast.Ident); ok {
					out[pkg.Name+"."+sel.Sel.Name] = true
				}
			}
		}
		return true
	})
	return out
}
