package testcluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// ModuleDir returns the directory of a module that the module in dir uses. It downloads the module if necessary.
func ModuleDir(ctx context.Context, dir, module string) (string, error) {
	list := func() (string, error) {
		cmd := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", module)
		cmd.Dir = dir
		out, err := cmd.Output()
		return strings.TrimSpace(string(out)), err
	}
	found, err := list()
	if err == nil && found == "" { // not downloaded yet
		cmd := exec.CommandContext(ctx, "go", "mod", "download", module)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("downloading the module %s: %w\n%s", module, err, out)
		}
		found, err = list()
	}
	if err == nil && found == "" {
		err = errors.New("go list reports no directory")
	}
	if err != nil {
		return "", fmt.Errorf("finding the module %s: %w", module, err)
	}
	return found, nil
}

// BuiltProgram returns the absolute path of a program in dir, or "" if dir is empty or does not have it.
func BuiltProgram(dir, name string) (string, error) {
	if dir == "" {
		return "", nil
	}
	path, err := filepath.Abs(filepath.Join(dir, name))
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(path); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return "", nil
		}
		return "", fmt.Errorf("-programs: %w", err)
	}
	return path, nil
}

// GoCommand runs the go command in the module at dir, without cgo, to build name. It prints how long that took.
func GoCommand(ctx context.Context, dir, name string, args []string) error {
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
