//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

const (
	// suiteModule is the directory of the module that pins critest, below the repository's root.
	suiteModule  = "tools/critest"
	suiteCommand = "sigs.k8s.io/cri-tools/cmd/critest"
)

// digestConstant matches the constant with the digest of the image that the suite pulls by digest.
// No other image can have that digest, so the suite is built with the digest of the substitute.
var digestConstant = regexp.MustCompile(`(testLinuxImageWithDigest\s*=\s*registry \+ "test-image-digest@)sha256:[0-9a-f]{64}`)

// buildSuite builds critest for a substitute image with the digest. It returns the program's path and
// the version of the suite.
func buildSuite(ctx context.Context, dir, digest string) (program, version string, err error) {
	if _, err := goCommand(ctx, suiteModule, "mod", "download", "sigs.k8s.io/cri-tools"); err != nil { // else it has no directory
		return "", "", err
	}
	output, err := goCommand(ctx, suiteModule, "list", "-m", "-f", "{{.Dir}} {{.Version}}", "sigs.k8s.io/cri-tools")
	if err != nil {
		return "", "", err
	}
	source, version, _ := strings.Cut(strings.TrimSpace(output), " ")
	module := filepath.Join(dir, "cri-tools")
	if err := os.CopyFS(module, os.DirFS(source)); err != nil {
		return "", "", err
	}
	constants := filepath.Join(module, "pkg", "validate", "consts.go")
	text, err := os.ReadFile(constants)
	if err != nil {
		return "", "", err
	}
	if !digestConstant.Match(text) {
		return "", "", fmt.Errorf("%s: no constant testLinuxImageWithDigest", constants)
	}
	if err := os.WriteFile(constants, digestConstant.ReplaceAll(text, []byte("${1}"+digest)), 0o600); err != nil {
		return "", "", err
	}
	// Build the copy with the pinned dependencies.
	for _, file := range []string{"go.mod", "go.sum"} {
		if text, err = os.ReadFile(filepath.Join(suiteModule, file)); err == nil {
			err = os.WriteFile(filepath.Join(dir, "critest."+strings.TrimPrefix(file, "go.")), text, 0o600)
		}
		if err != nil {
			return "", "", err
		}
	}
	modFile := "-modfile=" + filepath.Join(dir, "critest.mod")
	if _, err := goCommand(ctx, suiteModule, "mod", "edit", "-replace=sigs.k8s.io/cri-tools="+module, strings.TrimPrefix(modFile, "-modfile=")); err != nil {
		return "", "", err
	}
	program = filepath.Join(dir, "critest")
	_, err = goCommand(ctx, suiteModule, "test", "-c", modFile, "-o", program, suiteCommand)
	return program, version, err
}

// goCommand runs the go command in a directory and returns its output.
func goCommand(ctx context.Context, dir string, args ...string) (string, error) {
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return stdout.String(), nil
}

// runSuite runs critest against a socket and returns its results. Its output goes to a log file.
func runSuite(ctx context.Context, program, socket, focus, dir string) ([]result, error) {
	report, logFile := filepath.Join(dir, "report.json"), filepath.Join(dir, "critest.log")
	log, err := os.Create(logFile)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	args := []string{"-runtime-endpoint=unix://" + socket, "-image-endpoint=unix://" + socket, "-ginkgo.json-report=" + report, "-ginkgo.no-color", "-test.timeout=0"}
	if focus != "" {
		args = append(args, "-ginkgo.focus="+focus)
	}
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, log, log
	runErr := cmd.Run() // fails if a spec fails
	results, err := readReport(report)
	if err != nil {
		return nil, fmt.Errorf("critest ended without a report: %w", errors.Join(runErr, err))
	}
	return results, nil
}
