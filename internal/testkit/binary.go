package testkit

import (
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

var (
	buildOnce  sync.Once
	binaryPath string
	buildError error
)

// Binary returns the path of the berth command, which it builds once per process. The
// path is the same on every run, so an unchanged binary is not linked again. A lock prevents
// two test processes from building it at the same time.
func Binary(t testing.TB) string {
	t.Helper()
	buildOnce.Do(func() { binaryPath, buildError = build() })
	if buildError != nil {
		t.Fatal(buildError)
	}
	return binaryPath
}

// BuiltEnv is the environment variable with a directory that contains the programs that
// Binary and Program would build, for a machine without Go.
const BuiltEnv = "BERTH_BUILT"

func build() (string, error) {
	if builtDir := os.Getenv(BuiltEnv); builtDir != "" {
		return filepath.Join(builtDir, "berth"), nil
	}
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("berth-test-%d", os.Getuid()))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return "", err
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return "", err
	}
	if err := statSources(); err != nil {
		return "", err
	}
	binary := filepath.Join(dir, "berth")
	out, err := exec.Command("go", "build", "-ldflags=-s -w", "-o", binary, "github.com/berthproject/berth/cmd/berth").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("building ./cmd/berth: %w\n%s", err, out)
	}
	return binary, nil
}

// statSources calls stat on every source file of the module. The go command records these
// files for the test, so it does not use a cached test result after a source file has changed.
func statSources() error {
	mod, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return err
	}
	return filepath.WalkDir(filepath.Dir(strings.TrimSpace(string(mod))), func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || d.Name() == "parity"):
			return fs.SkipDir
		case strings.HasSuffix(path, ".go") || d.Name() == "go.mod":
			_, err = os.Stat(path)
		}
		return err
	})
}

// FreeAddress returns HOST:PORT on loopback with no listener.
func FreeAddress(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
