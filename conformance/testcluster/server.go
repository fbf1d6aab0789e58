package testcluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// Server is a running berth server, without controllers and nodes, in its own network namespace.
type Server struct {
	Kubeconfig string
	berth      string
	process    *exec.Cmd
	done       chan error // has the error with which the process ended
}

// StartServer starts `berth server` with more arguments and a new data directory in dir, and waits until it is ready.
func StartServer(ctx context.Context, berth, dir string, args ...string) (*Server, error) {
	data := filepath.Join(dir, "data")
	if err := errors.Join(os.RemoveAll(data), os.MkdirAll(data, 0o755)); err != nil {
		return nil, err
	}
	log, err := os.Create(filepath.Join(dir, "berth.log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	s := &Server{Kubeconfig: filepath.Join(data, "kubeconfig"), berth: berth, done: make(chan error, 1)}
	s.process = exec.Command("sh", append([]string{"-c", prepareNetwork + ` && exec "$0" "$@"`, berth, "server", "--data-dir", data}, args...)...) //nolint:noctx // Stop ends it
	s.process.Stdout, s.process.Stderr = log, log
	s.process.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Cloneflags: syscall.CLONE_NEWNET}
	if err := s.process.Start(); err != nil {
		return nil, err
	}
	go func() { s.done <- s.process.Wait() }()
	if err := s.wait(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("starting berth server (log %s): %w", log.Name(), err), s.Stop())
	}
	return s, nil
}

// wait blocks until the server is ready.
func (s *Server) wait(ctx context.Context) error {
	for start := time.Now(); ; {
		command := append(s.EnterCommand(), s.berth, "kubectl", "--kubeconfig", s.Kubeconfig, "get", "--raw", "/readyz")
		if exec.CommandContext(ctx, command[0], command[1:]...).Run() == nil {
			return nil
		}
		select {
		case err := <-s.done:
			s.done <- err
			return fmt.Errorf("berth server exited: %w", err)
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Second):
		}
		if time.Since(start) > startTimeout {
			return fmt.Errorf("the server is not ready after %s", startTimeout)
		}
	}
}

// EnterCommand returns the beginning of a command that runs in the network namespace of the server.
func (s *Server) EnterCommand() []string { return enterCommand(s.process) }

// Stop ends the server.
func (s *Server) Stop() error { return stopProcess(s.process, s.done, "berth server") }
