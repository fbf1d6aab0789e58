package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// file is a parsed Go file of the module.
type file struct {
	pkg       string // folder below the module's root
	name      string
	test      bool
	generated bool
	lines     int
	fset      *token.FileSet
	ast       *ast.File
}

func (f *file) imports() []string {
	var out []string
	for _, i := range f.ast.Imports {
		p, _ := strconv.Unquote(i.Path.Value)
		out = append(out, p)
	}
	return out
}

func (f *file) position(p token.Pos) string {
	return f.pkg + "/" + f.name + ":" + strconv.Itoa(f.fset.Position(p).Line)
}

// parseModule parses all Go files of the module, without nested modules.
func parseModule(t *testing.T) []*file {
	t.Helper()
	root := filepath.Join("..", "..")
	var files []*file
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if p != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "node_modules" || isModule(p)) {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(p, ".go") {
			return nil
		}
		f, err := parse(root, p)
		if err == nil {
			files = append(files, f)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 10 {
		t.Fatalf("only %d files found: the walk is broken", len(files))
	}
	return files
}

func isModule(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "go.mod"))
	return err == nil
}

func parse(root, p string) (*file, error) {
	src, err := os.ReadFile(p)
	if err != nil {
		return nil, err
	}
	fset := token.NewFileSet()
	tree, err := parser.ParseFile(fset, p, src, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	rel, err := filepath.Rel(root, p)
	if err != nil {
		return nil, err
	}
	rel = filepath.ToSlash(rel)
	return &file{
		pkg: path.Dir(rel), name: path.Base(rel), test: strings.HasSuffix(p, "_test.go"),
		generated: ast.IsGenerated(tree), lines: strings.Count(string(src), "\n"), fset: fset, ast: tree,
	}, nil
}

func TestEveryPackageHasALayer(t *testing.T) {
	for _, f := range parseModule(t) {
		if componentOf(f.pkg) == "" {
			t.Errorf("%s/%s belongs to no component: add its directory to components.go", f.pkg, f.name)
		}
	}
}

func TestImportsPointToLowerLayers(t *testing.T) {
	for _, f := range parseModule(t) {
		if f.generated {
			continue
		}
		from := componentOf(f.pkg)
		for _, imp := range f.imports() {
			if reason := importViolation(f, from, imp); reason != "" {
				t.Errorf("%s/%s imports %s: %s", f.pkg, f.name, imp, reason)
			}
		}
	}
}

// importViolation returns the rule that an import breaks, or "".
func importViolation(f *file, from, imp string) string {
	rel, ok := strings.CutPrefix(imp, Module+"/")
	if !ok {
		return ""
	}
	to := componentOf(rel)
	switch {
	case from == to:
		return ""
	case f.test && (to == "internal/testkit" || to == "internal/archtest"):
		return ""
	case layers[to] == unlayered && layers[from] == unlayered:
		return ""
	case layers[to] > layers[from]:
		return "layer " + strconv.Itoa(layers[from]) + " must not import layer " + strconv.Itoa(layers[to])
	case layers[to] == layers[from] && sameLayerImports[[2]string{from, to}] == "":
		return "components of one layer do not import each other unless sameLayerImports gives the reason"
	}
	return ""
}

func TestOnlyListedComponentsLinkTheServer(t *testing.T) {
	servers := []string{"k8s.io/apiserver", "k8s.io/kubectl", Module + "/apiserver"}
	linking := []string{"cmd", "e2e", "apiserver", "internal/cli", "internal/localnodes", "internal/localcluster", "berthtest"}
	// The agent authenticates and authorizes its callers with the library that the kubelet
	// uses. The library does not contain a server.
	allowed := map[string][]string{"agent/server": {"k8s.io/apiserver/pkg/authentication", "k8s.io/apiserver/pkg/server/dynamiccertificates"},
		// The manifests of static pods do not pass through an API server.
		"agent/staticpod": {Module + "/apiserver/podvalidation"},
		// The metrics servers serve, authenticate and authorize with the library of the Kubernetes components.
		"controllers/componentserver": {"k8s.io/apiserver/pkg"},
		// The arithmetic of quotas is a library without a server.
		"internal/quota":            {"k8s.io/apiserver/pkg/quota", "k8s.io/apiserver/pkg/admission", "k8s.io/kubectl/pkg/util/qos"},
		"controllers/resourcequota": {"k8s.io/apiserver/pkg/quota"}}
	for _, f := range parseModule(t) {
		if inComponents(f.pkg, linking) {
			continue
		}
		for _, imp := range f.imports() {
			for _, server := range servers {
				if (imp == server || strings.HasPrefix(imp, server+"/")) && !inComponents(imp, allowed[f.pkg]) {
					t.Errorf("%s/%s imports %s: only %s link the API server or kubectl", f.pkg, f.name, imp, strings.Join(linking, ", "))
				}
			}
		}
	}
}

// inComponents reports whether a package is one of the paths or below one.
func inComponents(pkg string, paths []string) bool {
	for _, p := range paths {
		if pkg == p || strings.HasPrefix(pkg, p+"/") {
			return true
		}
	}
	return false
}

func TestEveryPackageHasADoc(t *testing.T) {
	packages, documented := map[string]bool{}, map[string]bool{}
	for _, f := range parseModule(t) {
		if f.test {
			continue
		}
		packages[f.pkg] = true
		if f.name == "doc.go" && f.ast.Doc != nil {
			documented[f.pkg] = true
		}
	}
	for p := range packages {
		if !documented[p] {
			t.Errorf("%s has no doc.go with a package comment", p)
		}
	}
}

func TestNoGenericNames(t *testing.T) {
	banned := map[string]bool{"util": true, "utils": true, "common": true, "helper": true, "helpers": true,
		"manager": true, "impl": true, "types": true, "base": true, "misc": true}
	for _, f := range parseModule(t) {
		stem := strings.TrimSuffix(strings.TrimSuffix(f.name, ".go"), "_test")
		if banned[path.Base(f.pkg)] || banned[stem] {
			t.Errorf("%s/%s: the name is generic: name the file after its content", f.pkg, f.name)
		}
	}
}
