//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/berthproject/berth/agent/runtime/cri/containerd"
	"github.com/berthproject/berth/agent/virtualnode"
)

// target is a runtime under test.
type target struct {
	name    string
	version string
	socket  string
	stop    func() error
}

// readyTimeout bounds the start of a runtime.
const readyTimeout = time.Minute

// startEmbedded starts `berth runtime` with its data in dir and its log in logs.
func startEmbedded(ctx context.Context, berth, dir, logs string, env []string) (*target, error) {
	log, err := os.Create(filepath.Join(logs, "runtime.log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	t := &target{name: "embedded", version: "(this commit)", socket: filepath.Join(dir, "cri.sock")}
	cmd := exec.Command(berth, "runtime", "--dir", filepath.Join(dir, "r"), "--socket", t.socket, "--ephemeral")
	cmd.Env, cmd.Stdout, cmd.Stderr = env, log, log
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	t.stop = func() error {
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			return err
		}
		if err := cmd.Wait(); err != nil {
			return fmt.Errorf("berth runtime: %w: see %s", err, log.Name())
		}
		return nil
	}
	if err := waitForSocket(ctx, t.socket); err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		return nil, fmt.Errorf("berth runtime: %w: see %s", err, log.Name())
	}
	return t, nil
}

// waitForSocket waits until a process accepts connections on the socket.
func waitForSocket(ctx context.Context, socket string) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	for {
		conn, err := net.Dial("unix", socket)
		if err == nil {
			return conn.Close()
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// startContainerd starts a private containerd in a directory. It sets the environment of this process to env.
func startContainerd(ctx context.Context, dir string, env []string) (*target, error) {
	for _, entry := range env { // the daemon inherits the environment of this process
		if name, value, ok := strings.Cut(entry, "="); ok {
			if err := os.Setenv(name, value); err != nil {
				return nil, err
			}
		}
	}
	cidr, err := virtualnode.FreeSubnet(uint32(os.Getpid()))
	if err != nil {
		return nil, err
	}
	o := containerd.Options{Dir: filepath.Join(dir, "c"), State: filepath.Join(dir, "s"), PodCIDR: cidr, Bridge: fmt.Sprintf("critest%d", os.Getpid()%1e6)}
	daemon, socket, err := containerd.Start(ctx, o)
	if err != nil {
		return nil, err
	}
	t := &target{name: "containerd", socket: socket, stop: func() error { return daemon.Destroy(context.WithoutCancel(ctx)) }}
	v, err := daemon.Service().Version(ctx)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("reading containerd's version: %w", err), t.stop())
	}
	t.version, _, _ = strings.Cut(v.GetRuntimeVersion(), "~")
	return t, nil
}
