package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/berthproject/berth/conformance/testcluster"
)

// toolset has the paths of the programs of all software.
type toolset struct {
	dir, berth, helm string
}

// buildTools builds berth and helm.
func buildTools(ctx context.Context, o options) (*toolset, error) {
	root, err := testcluster.ModuleDir(ctx, "", "github.com/berthproject/berth")
	if err != nil {
		return nil, err
	}
	t := &toolset{dir: o.dir, berth: o.berth}
	for _, b := range []struct {
		path           *string
		name, dir, pkg string
	}{
		{&t.berth, "berth", root, "./cmd/berth"},
		{&t.helm, "helm", filepath.Join(root, "deploy", "installtest"), "helm.sh/helm/v4/cmd/helm"},
	} {
		if *b.path == "" {
			if *b.path, err = testcluster.BuiltProgram(o.programs, b.name); err != nil {
				return nil, err
			}
		}
		if *b.path != "" {
			continue
		}
		*b.path = filepath.Join(o.dir, "bin", b.name)
		if err := testcluster.GoCommand(ctx, b.dir, b.name, []string{"build", "-o", *b.path, b.pkg}); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// copySource downloads the module of a release, checks its sum, and copies it to the command's directory. There the
// module's own go.mod and replacements apply to builds. It adds Berth's programs, if any, and returns the path of the copy.
func copySource(ctx context.Context, dir string, s software) (string, error) {
	module := s.module + "@" + s.version
	target := filepath.Join(dir, "source", s.name+"-"+s.version)
	cmd := exec.CommandContext(ctx, "go", "mod", "download", "-json", module)
	cmd.Dir = os.TempDir() // outside of any module
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("downloading %s: %w\n%s", module, err, out)
	}
	var downloaded struct{ Dir, Sum string }
	if err := json.Unmarshal(out, &downloaded); err != nil {
		return "", fmt.Errorf("downloading %s: %w", module, err)
	}
	if downloaded.Sum != s.sum {
		return "", fmt.Errorf("downloading %s: the sum is %s, want %s", module, downloaded.Sum, s.sum)
	}
	if err := errors.Join(os.RemoveAll(target), os.MkdirAll(filepath.Dir(target), 0o755)); err != nil {
		return "", err
	}
	// Files of the module cache are read-only, and go build writes go.sum.
	if out, err := exec.CommandContext(ctx, "sh", "-c", `cp -r "$0" "$1" && chmod -R u+w "$1"`, downloaded.Dir, target).CombinedOutput(); err != nil {
		return "", fmt.Errorf("copying %s: %w\n%s", module, err, out)
	}
	if s.commands == "" {
		return target, nil
	}
	root, err := testcluster.ModuleDir(ctx, "", "github.com/berthproject/berth")
	if err != nil {
		return "", err
	}
	return target, os.CopyFS(filepath.Join(target, s.commands), os.DirFS(filepath.Join(root, "conformance", "software", "testdata", s.commands)))
}

// buildPrograms builds the programs of a release that an earlier run has not built, and returns their paths by name. It
// always builds Berth's programs, because they change without the version.
func buildPrograms(ctx context.Context, o options, s software, source string) (map[string]string, error) {
	paths := map[string]string{}
	for _, p := range s.programs {
		name := p.name + "-" + s.version
		path, err := testcluster.BuiltProgram(o.programs, name)
		if err != nil {
			return nil, err
		}
		if path == "" && s.commands == "" {
			if path, err = testcluster.BuiltProgram(filepath.Join(o.dir, "bin"), name); err != nil {
				return nil, err
			}
		}
		if path == "" {
			path = filepath.Join(o.dir, "bin", name)
			args := []string{"build", "-mod=mod", "-ldflags", "-s -w " + p.flags, "-o", path, p.pkg}
			if err := testcluster.GoCommand(ctx, source, name, args); err != nil {
				return nil, err
			}
		}
		paths[p.name] = path
	}
	return paths, nil
}
