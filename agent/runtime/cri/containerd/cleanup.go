package containerd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	criapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/berthproject/berth/agent/mounts"
)

// Destroy stops and removes all pods, the daemon and everything it created. It does not remove
// cgroups that callers passed as cgroup_parent.
func (d *Daemon) Destroy(ctx context.Context) error {
	err := d.removePods(ctx)
	d.Stop()
	return errors.Join(err, ForceCleanup(d.options))
}

// Cleanup removes what a killed daemon with these options left behind. It succeeds if there is
// nothing to remove.
func Cleanup(ctx context.Context, o Options) error {
	if _, err := os.Stat(o.root()); os.IsNotExist(err) {
		return ForceCleanup(o)
	}
	// A running daemon releases addresses and firewall rules through CNI.
	d, _, err := Start(ctx, o)
	if err != nil {
		return errors.Join(err, ForceCleanup(o))
	}
	return d.Destroy(ctx)
}

// parallelRemovals is the number of pods removed in parallel, since each removal waits for
// processes.
const parallelRemovals = 8

// removePods removes all pods of the daemon.
func (d *Daemon) removePods(ctx context.Context) error {
	sandboxes, err := d.service.ListPodSandbox(ctx, nil)
	if err != nil {
		return fmt.Errorf("containerd in %s: listing pods to remove: %w", d.options.Dir, err)
	}
	errs := make([]error, len(sandboxes))
	var wg sync.WaitGroup
	slots := make(chan struct{}, parallelRemovals)
	for i, s := range sandboxes {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			if err := errors.Join(d.killContainers(ctx, s.Id), d.service.StopPodSandbox(ctx, s.Id), d.service.RemovePodSandbox(ctx, s.Id)); err != nil {
				errs[i] = fmt.Errorf("pod %s/%s: %w", s.GetMetadata().GetNamespace(), s.GetMetadata().GetName(), err)
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// killContainers kills the containers of a sandbox. StopPodSandbox would grant them a grace
// period.
func (d *Daemon) killContainers(ctx context.Context, sandbox string) error {
	running := &criapi.ContainerStateValue{State: criapi.ContainerState_CONTAINER_RUNNING}
	list, err := d.service.ListContainers(ctx, &criapi.ContainerFilter{PodSandboxId: sandbox, State: running})
	for _, c := range list {
		err = errors.Join(err, d.service.StopContainer(ctx, c.Id, 0))
	}
	return err
}

// ForceCleanup removes what a daemon left behind without starting it: shims and their processes, mounts,
// network and files. o.PodCIDR may be empty.
func ForceCleanup(o Options) error {
	errs := []error{killShims(o.socket())}
	for _, dir := range []string{o.state(), o.Dir} {
		errs = append(errs, unmountBelow(dir))
	}
	return errors.Join(append(errs, removeNetwork(o.Bridge), o.removeFiles())...)
}

// removeFiles removes the files of Start and the daemon. It removes the directories only if they
// are empty, because Dir may be the root of a disk.
func (o Options) removeFiles() error {
	var errs []error
	for _, path := range []string{o.root(), o.netDir(), filepath.Join(o.Dir, "addresses"), filepath.Join(o.Dir, "containerd.toml"),
		filepath.Join(o.Dir, "containerd.log"), filepath.Join(o.state(), "run"), filepath.Join(o.state(), "runc"), o.socket(), o.socket() + ".ttrpc"} {
		errs = append(errs, os.RemoveAll(path))
	}
	for _, dir := range []string{o.state(), o.Dir} {
		if entries, err := os.ReadDir(dir); err == nil && len(entries) == 0 {
			_ = os.Remove(dir) // fails for a mount point
		}
	}
	return errors.Join(errs...)
}

// killShims kills the shims of the daemon that serves on socket and their descendants, and waits until
// they have exited.
func killShims(socket string) error {
	deadline := time.Now().Add(10 * time.Second)
	for {
		processes, err := processTable()
		if err != nil {
			return err
		}
		remaining := 0
		for pid, p := range processes {
			if p.isBelowShim(processes, socket) {
				remaining++
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
		if remaining == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("containerd: %d processes of shims with address %s did not exit within 10 s of SIGKILL", remaining, socket)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// procInfo holds the fields of a process in /proc.
type procInfo struct {
	parent  int
	command []string // program and arguments; one empty string for a kernel thread
}

// isBelowShim reports whether the process is a shim of the daemon that serves on socket, or a
// descendant of such a shim.
func (p procInfo) isBelowShim(table map[int]procInfo, socket string) bool {
	for range table { // bounded, because the table is not a snapshot
		if p.isShim(socket) {
			return true
		}
		next, ok := table[p.parent]
		if !ok {
			return false
		}
		p = next
	}
	return false
}

// isShim reports whether the process is a shim of the containerd at socket.
func (p procInfo) isShim(socket string) bool {
	if !strings.Contains(filepath.Base(p.command[0]), "containerd-shim") {
		return false
	}
	for i, arg := range p.command {
		if arg == "-address" && i+1 < len(p.command) && p.command[i+1] == socket {
			return true
		}
	}
	return false
}

// processTable returns the processes of the machine that have not exited, by process ID.
func processTable() (map[int]procInfo, error) {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil, err
	}
	table := make(map[int]procInfo, len(stats))
	for _, path := range stats {
		stat, err := os.ReadFile(path)
		if err != nil {
			continue // the process has exited
		}
		var pid, parent int
		var state string
		// The format is: pid (name) state parent. The name may contain any character.
		end := strings.LastIndexByte(string(stat), ')')
		if _, err := fmt.Sscan(string(stat), &pid); err != nil || end < 0 {
			continue
		}
		if _, err := fmt.Sscan(string(stat[end+1:]), &state, &parent); err != nil || state == "Z" || state == "X" {
			continue
		}
		command, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline"))
		table[pid] = procInfo{parent: parent, command: strings.Split(strings.TrimRight(string(command), "\x00"), "\x00")}
	}
	return table, nil
}

// unmountBelow unmounts all mounts below dir, latest first.
func unmountBelow(dir string) error {
	points, err := mounts.Below(dir)
	if err != nil {
		return err
	}
	for _, p := range slices.Backward(points) {
		if mounts.Unmount([]string{p}, false) != nil {
			err = errors.Join(err, mounts.Unmount([]string{p}, true))
		}
	}
	return err
}
