// Package process builds commands, runs them in the background and records their output.
package process

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Process is a command that runs until it is stopped.
type Process struct {
	cmd    *exec.Cmd
	done   chan struct{}
	mu     sync.Mutex
	output bytes.Buffer
}

// Start starts a command and records its output.
func Start(cmd *exec.Cmd) (*Process, error) {
	p := &Process{cmd: cmd, done: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = p, p
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		_ = cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

// Write records output of the process.
func (p *Process) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.output.Write(b)
}

// HasOutput reports whether the process has printed the words.
func (p *Process) HasOutput(words string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Contains(p.output.String(), words)
}

// Tail returns the last 3000 bytes of the output.
func (p *Process) Tail() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := p.output.String()
	return t[max(0, len(t)-3000):]
}

// Pid returns the process id.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Exited reports whether the process has ended.
func (p *Process) Exited() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// WaitUntil waits until ready returns true, the process ends, or a minute has passed.
func (p *Process) WaitUntil(ctx context.Context, ready func() bool) error {
	for from := time.Now(); !ready(); time.Sleep(50 * time.Millisecond) {
		if p.Exited() || ctx.Err() != nil || time.Since(from) > time.Minute {
			return fmt.Errorf("%s is not ready after %v: %s", filepath.Base(p.cmd.Path), time.Since(from).Round(time.Second), p.Tail())
		}
	}
	return nil
}

// Stop sends SIGTERM to the process, and kills it after 10 s.
func (p *Process) Stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.done:
	case <-time.After(10 * time.Second):
		_ = p.cmd.Process.Kill()
		<-p.done
	}
}

// Bin returns the directory of built commands. It is not removed, so that unchanged commands are not
// linked again.
func Bin() (string, error) {
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("berth-parity-%d", os.Getuid()))
	return dir, os.MkdirAll(dir, 0o700)
}

// KubeVersionFlags are linker flags that set the version of Kubernetes commands.
const KubeVersionFlags = "-X k8s.io/component-base/version.gitVersion=v1.36.3"

// Build builds a package relative to the directory of a module and returns the path of the
// command.
func Build(ctx context.Context, module, pkg, name string, flags ...string) (string, error) {
	bin, err := Bin()
	if err != nil {
		return "", err
	}
	to := filepath.Join(bin, name)
	cmd := exec.CommandContext(ctx, "go", "build", "-ldflags=-s -w "+strings.Join(flags, " "), "-o", to, pkg)
	cmd.Dir, cmd.Env = module, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building %s: %w\n%s", pkg, err, out)
	}
	return to, nil
}
