package testkit

import (
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"syscall"
	"testing"
)

// Program returns the path of a static program that is built from a package of this
// module, such as agent/testprogram/program. As with Binary, the path is the same on every
// run.
func Program(t testing.TB, pkg string) string {
	t.Helper()
	program, err := buildProgram(pkg)
	if err != nil {
		t.Fatal(err)
	}
	return program
}

func buildProgram(pkg string) (string, error) {
	name := path.Base(path.Dir(pkg)) + "-" + path.Base(pkg)
	if builtDir := os.Getenv(BuiltEnv); builtDir != "" {
		return filepath.Join(builtDir, name), nil
	}
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("berth-test-%d", os.Getuid()))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	lock, err := os.OpenFile(filepath.Join(dir, name+".lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return "", err
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return "", err
	}
	program := filepath.Join(dir, name)
	cmd := exec.Command("go", "build", "-ldflags=-s -w", "-o", program, "github.com/berthproject/berth/"+pkg)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0") // it must run without libc
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building %s: %w\n%s", pkg, err, out)
	}
	return program, nil
}
