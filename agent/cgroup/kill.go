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

// Kill sends SIGKILL to all processes of the cgroup and of those below, at
// once, and returns when each has been sent it: they may still be dying. A
// cgroup that is not there has none.
//
// cgroup.kill does it in one write. Without, the processes that are listed are
// killed; if that finds others the next time, they fork, and are frozen before
// the next round. A cgroup that is frozen already is thawed in the end, or
// nothing in it would die; those below it are left to Thaw.
func (h *Host) Kill(path string) error {
	if filepath.Clean("/"+path) == "/" {
		return errors.New("cgroup /: the whole machine is not killed")
	}
	if h.unified != "" {
		err := writeFile(filepath.Join(h.unified, path, "cgroup.kill"), "1")
		if h.Mode == V2 && (err == nil || ignoreGone(err) == nil) {
			return nil
		}
	}
	held := h.isFrozen(path) // by who was killed, or kills it, too
	sent := map[int]bool{os.Getpid(): true}
	fresh, err := h.killListed(path, sent)
	for rounds := 0; fresh > 0 && err == nil; rounds++ {
		if fresh, err = h.killListed(path, sent); fresh > 0 && err == nil {
			if rounds == maxFreezeRounds {
				return fmt.Errorf("cgroup %s: still forks after %d rounds of SIGKILL", path, rounds)
			}
			fresh, err = h.killFrozen(path, sent)
		}
	}
	if held { // it would not die
		err = errors.Join(err, ignoreGone(h.thawAt(h.Dir("freezer", path))))
	}
	return err
}

// Thaw thaws the cgroup and all below it. Nobody freezes them but Kill, for a moment; an agent that is killed in it leaves them
// frozen, with all that is in them. So it is for who comes after such an agent, before it kills anything itself: what another Kill has
// just frozen would be thawed, too, and fork.
func (h *Host) Thaw(path string) error {
	root := h.Dir("freezer", path)
	if root == "" {
		return nil
	}
	err := filepath.WalkDir(root, func(at string, d fs.DirEntry, err error) error {
		if err != nil {
			return ignoreGone(err)
		}
		if d.IsDir() && h.frozenAt(at) {
			return ignoreGone(h.thawAt(at))
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("cgroup %s: thawing: %w", path, err)
	}
	return nil
}

// isFrozen says that the cgroup itself is frozen, not only with one above it.
func (h *Host) isFrozen(path string) bool {
	dir := h.Dir("freezer", path)
	return dir != "" && h.frozenAt(dir)
}

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

// maxFreezeRounds is how often a frozen cgroup may have new processes.
const maxFreezeRounds = 50

// killListed kills the processes that are listed and not yet sent SIGKILL, and
// counts them.
func (h *Host) killListed(path string, sent map[int]bool) (fresh int, err error) {
	pids, err := h.Procs(path)
	for _, pid := range pids {
		if sent[pid] {
			continue
		}
		sent[pid] = true
		if err := unix.Kill(pid, unix.SIGKILL); err == nil {
			fresh++
		} else if !errors.Is(err, unix.ESRCH) {
			return fresh, fmt.Errorf("cgroup %s: process %d cannot be killed: %w", path, pid, err)
		}
	}
	return fresh, err
}

// killFrozen does a round with the cgroup frozen, so that nothing forks meanwhile.
func (h *Host) killFrozen(path string, sent map[int]bool) (int, error) {
	thaw := h.freeze(path)
	defer thaw()
	return h.killListed(path, sent)
}

// freeze freezes what it can within 20 ms and answers with what thaws it.
func (h *Host) freeze(path string) (thaw func()) {
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

func isGone(err error) bool { return errors.Is(err, unix.ENODEV) || errors.Is(err, unix.ENOENT) }
