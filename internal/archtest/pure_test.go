package archtest

import (
	"go/ast"
	"go/token"
	"strings"
	"testing"
)

// pureImports lists the packages of the standard library that the engine may import.
var pureImports = map[string]bool{
	"fmt": true, "errors": true, "time": true, "slices": true, "maps": true, "cmp": true, "iter": true, "sort": true,
	"strings": true, "strconv": true, "math": true, "math/bits": true, "container/heap": true, "bytes": true, "net/netip": true,
}

// impureCalls lists functions of these packages that have side effects.
var impureCalls = map[string]string{
	"time.Now": "time is passed as an argument", "time.Since": "time is passed as an argument",
	"time.Until": "time is passed as an argument", "time.After": "timers belong to a shell",
	"time.AfterFunc": "timers belong to a shell", "time.Sleep": "timers belong to a shell",
	"time.NewTimer": "timers belong to a shell", "time.NewTicker": "timers belong to a shell",
	"fmt.Print": "text belongs to explain", "fmt.Println": "text belongs to explain", "fmt.Printf": "text belongs to explain",
}

func engineFiles(t *testing.T) []*file {
	var out []*file
	for _, f := range parseModule(t) {
		if strings.HasPrefix(f.pkg, "engine/") && !f.test {
			out = append(out, f)
		}
	}
	if len(out) < 10 {
		t.Fatalf("only %d engine files found", len(out))
	}
	return out
}

func TestEngineImports(t *testing.T) {
	for _, f := range engineFiles(t) {
		for _, imp := range f.imports() {
			if !pureImports[imp] && !strings.HasPrefix(imp, Module+"/engine/") {
				t.Errorf("%s/%s imports %s: the engine does no I/O, holds no lock and imports no Kubernetes package", f.pkg, f.name, imp)
			}
		}
	}
}

func TestEngineIsPure(t *testing.T) {
	for _, f := range engineFiles(t) {
		ast.Inspect(f.ast, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt:
				t.Errorf("%s: a goroutine; concurrency belongs to a shell", f.position(n.Pos()))
			case *ast.SelectStmt, *ast.SendStmt, *ast.ChanType:
				t.Errorf("%s: a channel; concurrency belongs to a shell", f.position(n.Pos()))
			case *ast.CallExpr:
				if reason := impureCalls[callee(n)]; reason != "" {
					t.Errorf("%s: %s: %s", f.position(n.Pos()), callee(n), reason)
				}
			}
			return true
		})
	}
}

func callee(c *ast.CallExpr) string {
	if sel, ok := c.Fun.(*ast.SelectorExpr); ok {
		if x, ok := sel.X.(*ast.Ident); ok {
			return x.Name + "." + sel.Sel.Name
		}
	}
	return ""
}

// TestEngineHasNoGlobalState checks that the engine never assigns to a package variable.
func TestEngineHasNoGlobalState(t *testing.T) {
	globals := map[string]map[string]bool{}
	declarations := map[*ast.ValueSpec]bool{}
	for _, f := range engineFiles(t) {
		if globals[f.pkg] == nil {
			globals[f.pkg] = map[string]bool{}
		}
		for _, d := range f.ast.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.VAR {
				continue
			}
			for _, s := range g.Specs {
				declarations[s.(*ast.ValueSpec)] = true
				for _, n := range s.(*ast.ValueSpec).Names {
					globals[f.pkg][n.Name] = true
				}
			}
		}
	}
	// A name with an object is a local variable that shadows the package variable,
	// unless the object is the package variable.
	isGlobal := func(f *file, n *ast.Ident) bool {
		if n == nil || !globals[f.pkg][n.Name] {
			return false
		}
		if n.Obj == nil {
			return true
		}
		spec, ok := n.Obj.Decl.(*ast.ValueSpec)
		return ok && declarations[spec]
	}
	for _, f := range engineFiles(t) {
		ast.Inspect(f.ast, func(n ast.Node) bool {
			assignment, ok := n.(*ast.AssignStmt)
			if !ok || assignment.Tok == token.DEFINE {
				return true
			}
			for _, l := range assignment.Lhs {
				if name := rootIdent(l); isGlobal(f, name) {
					t.Errorf("%s: package variable %s changes", f.position(assignment.Pos()), name.Name)
				}
			}
			return true
		})
	}
}

// rootIdent returns the identifier at the start of the left side of an assignment, or nil.
func rootIdent(e ast.Expr) *ast.Ident {
	for {
		switch x := e.(type) {
		case *ast.Ident:
			return x
		case *ast.IndexExpr:
			e = x.X
		case *ast.SelectorExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		default:
			return nil
		}
	}
}
