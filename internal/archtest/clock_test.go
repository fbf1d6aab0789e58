package archtest

import (
	"go/ast"
	"slices"
	"strings"
	"testing"
)

// controllerFolders are the folders in which time, randomness and concurrency are injected.
var controllerFolders = []string{"controllers", "drain", "executor"}

// clockReaders lists the packages of these folders that may read the wall clock and random numbers, with the reason.
var clockReaders = map[string]string{
	"controllers/runner":                "it provides the clock and random names of a process",
	"controllers/leaderelection":        "a lease is renewed in real time, under a unique name",
	"controllers/upstreamguard":         "it watches the leases of other components before controllers start",
	"controllers/workload/workloadtest": "test support",
}

// goroutineStarters lists the packages of these folders that may start goroutines, with the reason.
var goroutineStarters = map[string]string{
	"controllers/runner":                "it runs the parts of a controller",
	"controllers/workqueue":             "it runs the workers of a queue",
	"controllers/leaderelection":        "it runs the work of a leader",
	"controllers/componentserver":       "it serves HTTP",
	"controllers/scheduler":             "it runs the scheduling machine",
	"controllers/workload/workloadtest": "test support",
	"executor":                          "it runs workers that send requests",
}

// wallClock lists the functions that read the wall clock or wait for it.
var wallClock = []string{"time.Now", "time.Since", "time.Until", "time.After", "time.AfterFunc", "time.Tick", "time.Sleep", "time.NewTimer", "time.NewTicker",
	"metav1.Now", "metav1.NowMicro", "clock.RealClock"}

// optionalClock lists the files that fall back to the wall clock if the caller sets none.
var optionalClock = []string{"controllers/scheduler/run.go"}

// deterministicRand lists the functions of rand packages that do not return random values.
var deterministicRand = []string{"rand.SafeEncodeString"}

// TestControllersUseTheInjectedClock checks that no controller reads the wall clock or a random source.
func TestControllersUseTheInjectedClock(t *testing.T) {
	used := map[string]bool{}
	for _, f := range controllerFiles(t) {
		ast.Inspect(f.ast, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			x, ok := sel.X.(*ast.Ident)
			if !ok || x.Obj != nil { // an identifier with an object is not a package
				return true
			}
			name := x.Name + "." + sel.Sel.Name
			readsClock := slices.Contains(wallClock, name) && !(name == "clock.RealClock" && slices.Contains(optionalClock, f.pkg+"/"+f.name))
			isRandom := x.Name == "rand" && !slices.Contains(deterministicRand, name)
			switch {
			case !readsClock && !isRandom:
			case clockReaders[f.pkg] != "":
				used[f.pkg] = true
			default:
				t.Errorf("%s: %s: use runner.Environment, or the clock of the options", f.position(n.Pos()), name)
			}
			return true
		})
	}
	checkUsed(t, clockReaders, used, "reads the wall clock or random numbers")
}

// TestControllersStartNoGoroutines checks that only the packages of goroutineStarters start goroutines.
func TestControllersStartNoGoroutines(t *testing.T) {
	used := map[string]bool{}
	for _, f := range controllerFiles(t) {
		ast.Inspect(f.ast, func(n ast.Node) bool {
			construct := ""
			switch n := n.(type) {
			case *ast.GoStmt:
				construct = "a go statement"
			case *ast.CallExpr:
				if sel, ok := n.Fun.(*ast.SelectorExpr); ok && sel.Sel.Name == "Go" || strings.HasPrefix(callee(n), "wait.Until") {
					construct = "a call of " + callee(n)
				}
			}
			switch {
			case construct == "":
			case goroutineStarters[f.pkg] != "":
				used[f.pkg] = true
			default:
				t.Errorf("%s: %s: use runner.Concurrently, ForEach, Every or StartInformer", f.position(n.Pos()), construct)
			}
			return true
		})
	}
	checkUsed(t, goroutineStarters, used, "starts goroutines")
}

func controllerFiles(t *testing.T) []*file {
	return slices.DeleteFunc(parseModule(t), func(f *file) bool { return f.test || !inComponents(f.pkg, controllerFolders) })
}

// checkUsed reports exceptions that are no longer needed.
func checkUsed(t *testing.T, exceptions map[string]string, used map[string]bool, action string) {
	for pkg, reason := range exceptions {
		if !used[pkg] {
			t.Errorf("%s no longer %s (%s): remove it from the list", pkg, action, reason)
		}
	}
}
