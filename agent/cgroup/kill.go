package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Kill sends SIGKILL to all processes of the cgroup and its descendants. It returns when all
// have been signaled, which may be before they exit. It is a no-op if the cgroup does not
// exist.
//
// If a v2 hierarchy is mounted, Kill writes cgroup.kill. In mode V2 this suffices since Linux 5.14. In all other cases
// Kill signals each listed process, too. If new processes appear, it freezes the cgroup before each further round. If the
// cgroup was frozen already, Kill thaws it at the end, because frozen processes do not exit. It does not thaw frozen
// descendants; see Thaw.
func (h *Host) Kill(path string) error {
	if filepath.Clean("/"+path) == "/" {
		return errors.New("cgroup /: the root cgroup cannot be killed")
	}
	if h.unified != "" {
		err := writeFile(filepath.Join(h.unified, path, "cgroup.kill"), "1")
		if h.Mode == V2 && (err == nil || errors.Is(err, unix.ENODEV)) {
			return nil
		}
	}
	wasFrozen := h.isFrozen(path) // perhaps by an earlier or a concurrent Kill
	signaled := map[int]bool{os.Getpid(): true}
	killed, err := h.killListed(path, signaled)
	for rounds := 0; killed > 0 && err == nil; rounds++ {
		if killed, err = h.killListed(path, signaled); killed > 0 && err == nil {
			if rounds == maxFreezeRounds {
				err = fmt.Errorf("cgroup %s: processes still fork after %d rounds of SIGKILL", path, rounds)
				break
			}
			killed, err = h.killFrozen(path, signaled)
		}
	}
	if wasFrozen {
		err = errors.Join(err, ignoreRemoved(h.thawAt(h.Dir("freezer", path))))
	}
	return err
}

// Thaw thaws the cgroup and all its descendants. An agent that is killed during Kill leaves cgroups
// frozen. Call Thaw only before the first Kill of a new agent. It would also thaw processes that a
// concurrent Kill has frozen, and they could fork.
func (h *Host) Thaw(path string) error {
	root := h.Dir("freezer", path)
	if root == "" {
		return nil
	}
	err := filepath.WalkDir(root, func(dir string, d fs.DirEntry, err error) error {
		if err != nil {
			return ignoreRemoved(err)
		}
		if d.IsDir() && h.frozenAt(dir) {
			return ignoreRemoved(h.thawAt(dir))
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("cgroup %s: thawing: %w", path, err)
	}
	return nil
}

func (h *Host) isFrozen(path string) bool {
	dir := h.Dir("freezer", path)
	return dir != "" && h.frozenAt(dir)
}

// frozenAt reports whether a cgroup itself is set to frozen, not only an ancestor.
func (h *Host) frozenAt(dir string) bool {
	file := "freezer.self_freezing"
	if h.Mode == V2 {
		file = "cgroup.freeze"
	}
	text, err := os.ReadFile(filepath.Join(dir, file))
	return err == nil && strings.TrimSpace(string(text)) == "1"
}

func (h *Host) thawAt(dir string) error {
	if h.Mode == V2 {
		return writeFile(filepath.Join(dir, "cgroup.freeze"), "0")
	}
	return writeFile(filepath.Join(dir, "freezer.state"), "THAWED")
}

// maxFreezeRounds bounds the rounds in which a frozen cgroup has new processes.
const maxFreezeRounds = 50

// killListed kills the listed processes that are not in signaled, and returns their number.
func (h *Host) killListed(path string, signaled map[int]bool) (killed int, err error) {
	pids, err := h.Procs(path)
	for _, pid := range pids {
		if signaled[pid] {
			continue
		}
		signaled[pid] = true
		if err := unix.Kill(pid, unix.SIGKILL); err == nil {
			killed++
		} else if !errors.Is(err, unix.ESRCH) {
			return killed, fmt.Errorf("cgroup %s: killing process %d: %w", path, pid, err)
		}
	}
	return killed, err
}

// killFrozen calls killListed while the cgroup is frozen.
func (h *Host) killFrozen(path string, signaled map[int]bool) (int, error) {
	thaw := h.Freeze(path)
	defer thaw()
	return h.killListed(path, signaled)
}

// Freeze freezes the cgroup and returns a function that thaws it. On v1 it waits at most 20 ms until all processes
// are frozen; on v2 it does not wait. Without a freezer in the kernel it has no effect. Frozen processes that Kill
// has signaled exit when they are thawed.
func (h *Host) Freeze(path string) (thaw func()) {
	if h.Mode == V2 {
		file := filepath.Join(h.unified, path, "cgroup.freeze")
		_ = writeFile(file, "1")
		return func() { _ = writeFile(file, "0") }
	}
	dir := h.Dir("freezer", path)
	if dir == "" {
		return func() {}
	}
	file := filepath.Join(dir, "freezer.state")
	if writeFile(file, "FROZEN") == nil {
		for range 20 {
			if state, err := os.ReadFile(file); err != nil || string(state) == "FROZEN\n" {
				break
			}
			time.Sleep(time.Millisecond)
		}
	}
	return func() { _ = writeFile(file, "THAWED") }
}
