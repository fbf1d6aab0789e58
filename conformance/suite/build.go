package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// kubernetesVersion is the version of the suite. e2e/go.mod pins the same one.
const kubernetesVersion = "v1.36.3"

// toolset has the paths of the programs and sources that the command uses.
type toolset struct {
	dir    string // for everything that the command writes
	berth  string
	e2e    string
	ginkgo string
	// Programs of test images.
	agnhost, etcd, sampleAPIServer, shell string
	source                                string // directory of the module k8s.io/kubernetes
}

// moduleDir returns the directory of a module that the module in dir uses.
func moduleDir(ctx context.Context, dir, module string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", module)
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("finding the module %s: %w", module, err)
	}
	return strings.TrimSpace(string(out)), nil
}

// suiteDir returns the directory of this package's sources.
func suiteDir(ctx context.Context) (string, error) {
	root, err := moduleDir(ctx, "", "github.com/berthproject/berth")
	return filepath.Join(root, "conformance", "suite"), err
}

// e2eDir returns the directory of the module that pins the suite.
func e2eDir(ctx context.Context) (string, error) {
	dir, err := suiteDir(ctx)
	return filepath.Join(dir, "e2e"), err
}

// buildTools builds all binaries. Go's build cache makes later calls fast.
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
	if t.source, err = moduleDir(ctx, module, "k8s.io/kubernetes"); err != nil {
		return nil, err
	}
	version := strings.Split(strings.TrimPrefix(kubernetesVersion, "v"), ".")
	const variable = " -X k8s.io/component-base/version.git"
	ldflags := "-s -w" + variable + "Version=" + kubernetesVersion + variable + "Major=" + version[0] + variable + "Minor=" + version[1]
	for _, b := range []struct {
		path *string
		name string
		dir  string
		args []string
	}{
		{&t.ginkgo, "ginkgo", module, []string{"build", "github.com/onsi/ginkgo/v2/ginkgo"}},
		{&t.agnhost, "agnhost", module, []string{"build", "k8s.io/kubernetes/test/images/agnhost"}},
		{&t.etcd, "etcd", module, []string{"build", "go.etcd.io/etcd/server/v3"}},
		{&t.sampleAPIServer, "sample-apiserver", module, []string{"build", "k8s.io/sample-apiserver"}},
		{&t.e2e, "e2e.test", module, []string{"test", "-c", "k8s.io/kubernetes/test/e2e"}},
		{&t.shell, "shell", filepath.Dir(module), []string{"build", "./shell"}},
		{&t.berth, "berth", filepath.Dir(filepath.Dir(filepath.Dir(module))), []string{"build", "./cmd/berth"}},
	} {
		if *b.path != "" {
			continue
		}
		*b.path = filepath.Join(bin, b.name)
		args := slices.Concat(b.args[:len(b.args)-1], []string{"-ldflags", ldflags, "-o", *b.path, b.args[len(b.args)-1]})
		if b.name == "berth" {
			args = []string{"build", "-o", *b.path, "./cmd/berth"}
		}
		if err := goCommand(ctx, b.dir, b.name, args); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// goCommand runs the go command in a module and prints how long it took.
func goCommand(ctx context.Context, dir, name string, args []string) error {
	start := time.Now()
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("building %s: %w\n%s", name, err, out)
	}
	usage := cmd.ProcessState
	fmt.Printf("built %s in %s (%s of CPU)\n", name, time.Since(start).Round(time.Second), (usage.UserTime() + usage.SystemTime()).Round(time.Second))
	return nil
}
