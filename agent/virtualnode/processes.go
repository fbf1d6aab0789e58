//go:build linux

package virtualnode

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// killRuntime kills the container runtimes of a directory and their shims, which survive their
// runtime. They are identified by an argument below dir.
func killRuntime(dir string) {
	for range 100 {
		pids := runtimeProcesses(dir)
		if len(pids) == 0 {
			return
		}
		for _, pid := range pids {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// runtimeProcesses returns the processes of containerd and its shims that use dir. Zombies have
// no arguments and are not included.
func runtimeProcesses(dir string) []int {
	entries, _ := os.ReadDir("/proc")
	var pids []int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		line, _ := os.ReadFile("/proc/" + e.Name() + "/cmdline")
		args := strings.Split(string(line), "\x00")
		if !strings.HasPrefix(filepath.Base(args[0]), "containerd") {
			continue
		}
		for _, arg := range args[1:] {
			if strings.HasPrefix(arg, dir+"/") || strings.Contains(arg, "="+dir+"/") {
				pids = append(pids, pid)
				break
			}
		}
	}
	return pids
}

// waitUntilEmpty waits until a cgroup has no processes. It kills processes that join the cgroup in the
// meantime.
func (p *Pool) waitUntilEmpty(ctx context.Context, group string) error {
	for {
		pids, err := p.host.Procs(group)
		if err != nil || len(pids) == 0 {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for %d killed processes to exit: %w", len(pids), ctx.Err())
		case <-time.After(10 * time.Millisecond):
		}
		if err := p.host.Kill(group); err != nil {
			return err
		}
	}
}
