package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/berthproject/berth/conformance/testcluster"
)

// kubernetesVersion is the version of the suite. e2e/go.mod pins the same version.
const kubernetesVersion = "v1.36.3"

// toolset has the paths of the programs and sources that the command uses.
type toolset struct {
	dir                string // directory for everything that the command writes
	source             string // directory of the module k8s.io/kubernetes
	berth, e2e, ginkgo string
	// Programs of test images.
	agnhost, shell string
	coreDNS        string // "" unless the batch is beyondBatch
	// Programs of images that quickBatch does not need, "" for this batch.
	etcd, sampleAPIServer string
}

// suiteDir returns the directory of this package's sources.
func suiteDir(ctx context.Context) (string, error) {
	root, err := testcluster.ModuleDir(ctx, "", "github.com/berthproject/berth")
	return filepath.Join(root, "conformance", "suite"), err
}

// e2eDir returns the directory of the module that pins the suite.
func e2eDir(ctx context.Context) (string, error) {
	dir, err := suiteDir(ctx)
	return filepath.Join(dir, "e2e"), err
}

// gcflags are compiler flags for programs of the suite. Without inlining and debug information the compiler takes 30 %
// less time. .ci/run has the same flags for these dependencies.
var gcflags = []string{"-gcflags=all=-l -dwarf=false", "-gcflags=std="}

// goProgram is a program that buildTools builds.
type goProgram struct {
	path *string // receives the path of the program; if it is not empty, the program is not built
	name string
	dir  string   // working directory of the go command
	args []string // arguments of the go command; the last one is the package
}

// programsFor returns the programs that a batch needs. module is the directory of the module that pins the suite.
func programsFor(t *toolset, module, batch string) []goProgram {
	suite := filepath.Dir(module)
	programs := []goProgram{
		{&t.ginkgo, "ginkgo", module, []string{"build", "github.com/onsi/ginkgo/v2/ginkgo"}},
		{&t.agnhost, "agnhost", module, []string{"build", "k8s.io/kubernetes/test/images/agnhost"}},
		{&t.shell, "shell", suite, []string{"build", "./shell"}},
		{&t.berth, "berth", filepath.Dir(filepath.Dir(suite)), []string{"build", "./cmd/berth"}},
	}
	if batch == quickBatch {
		return append(programs, goProgram{&t.e2e, "quick.test", module, []string{"test", "-c", "-vet=off", "./quick"}})
	}
	if batch == beyondBatch {
		programs = append(programs, goProgram{&t.coreDNS, "coredns", filepath.Join(suite, "coredns"), []string{"build", "."}})
	}
	return append(programs,
		goProgram{&t.etcd, "etcd", module, []string{"build", "go.etcd.io/etcd/server/v3"}},
		goProgram{&t.sampleAPIServer, "sample-apiserver", module, []string{"build", "k8s.io/sample-apiserver"}},
		goProgram{&t.e2e, "e2e.test", module, []string{"test", "-c", "k8s.io/kubernetes/test/e2e"}})
}

// buildTools builds the programs that the batch needs and that -berth and -programs do not provide. Go's build cache makes
// later calls fast.
func buildTools(ctx context.Context, o options) (*toolset, error) {
	module, err := e2eDir(ctx)
	if err != nil {
		return nil, err
	}
	bin := filepath.Join(o.dir, "bin")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		return nil, err
	}
	t := &toolset{dir: o.dir, berth: o.berth}
	if t.source, err = testcluster.ModuleDir(ctx, module, "k8s.io/kubernetes"); err != nil {
		return nil, err
	}
	version := strings.Split(strings.TrimPrefix(kubernetesVersion, "v"), ".")
	const variable = " -X k8s.io/component-base/version.git"
	ldflags := "-s -w" + variable + "Version=" + kubernetesVersion + variable + "Major=" + version[0] + variable + "Minor=" + version[1]
	for _, b := range programsFor(t, module, o.batch) {
		if *b.path != "" {
			continue
		}
		found, err := builtProgram(ctx, o.programs, b.name)
		if err != nil {
			return nil, err
		}
		if found != "" {
			*b.path = found
			continue
		}
		*b.path = filepath.Join(bin, b.name)
		args := slices.Concat(b.args[:len(b.args)-1], gcflags, []string{"-ldflags", ldflags, "-o", *b.path, b.args[len(b.args)-1]})
		if b.name == "berth" {
			args = []string{"build", "-o", *b.path, "./cmd/berth"}
		}
		if err := testcluster.GoCommand(ctx, b.dir, b.name, args); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// builtProgram returns the path of a program in dir, or "" if dir is empty or does not have the program. A test program
// must have the version of the suite.
func builtProgram(ctx context.Context, dir, name string) (string, error) {
	path, err := testcluster.BuiltProgram(dir, name)
	if err != nil || path == "" || !strings.HasSuffix(name, ".test") {
		return path, err
	}
	out, err := exec.CommandContext(ctx, path, "--version").Output()
	if err != nil {
		return "", fmt.Errorf("-programs: finding the version of %s: %w", path, err)
	}
	if version := strings.TrimSpace(string(out)); version != kubernetesVersion {
		return "", fmt.Errorf("-programs: %s has version %q: must be %s", path, version, kubernetesVersion)
	}
	return path, nil
}
