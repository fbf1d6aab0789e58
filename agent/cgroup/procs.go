package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// AddProcess moves a process into the cgroup, in every hierarchy that Create uses.
func (h *Host) AddProcess(path string, pid int) error {
	for _, dir := range h.createDirs(path) {
		if err := writeFile(filepath.Join(dir, "cgroup.procs"), strconv.Itoa(pid)); err != nil {
			return fmt.Errorf("cgroup %s: adding process %d: %w", path, pid, err)
		}
	}
	return nil
}

// JoinDirs returns the directories in whose cgroup.procs a process writes "0" to join the
// cgroup.
func (h *Host) JoinDirs(path string) []string { return h.createDirs(path) }

// Procs returns the process IDs of the cgroup and its descendants. Processes outside of the
// agent's PID namespace are omitted. A cgroup that does not exist has none.
func (h *Host) Procs(path string) ([]int, error) {
	var pids []int
	err := filepath.WalkDir(h.Dir("memory", path), func(dir string, d fs.DirEntry, err error) error {
		if err != nil {
			return ignoreRemoved(err)
		}
		if !d.IsDir() {
			return nil
		}
		text, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
		for field := range strings.FieldsSeq(string(text)) {
			if pid, err := strconv.Atoi(field); err == nil && pid > 0 {
				pids = append(pids, pid)
			}
		}
		return ignoreRemoved(err)
	})
	if err != nil {
		return nil, fmt.Errorf("cgroup %s: %w", path, err)
	}
	return pids, nil
}

// AnonymousMemory returns the anonymous memory in the page tables of all processes of the
// cgroup and its descendants, in bytes. Pages shared after a fork count once per process.
func (h *Host) AnonymousMemory(path string) (int64, error) {
	pids, err := h.Procs(path)
	if err != nil {
		return 0, err
	}
	page := int64(os.Getpagesize())
	var sum int64
	for _, pid := range pids {
		text, err := os.ReadFile(filepath.Join(h.proc, strconv.Itoa(pid), "statm"))
		fields := strings.Fields(string(text))
		if err != nil || len(fields) < 3 {
			continue // the process has exited
		}
		resident, _ := strconv.ParseInt(fields[1], 10, 64)
		shared, _ := strconv.ParseInt(fields[2], 10, 64)
		sum += max(resident-shared, 0) * page
	}
	return sum, nil
}

// ignoreRemoved returns nil if err means that the cgroup was removed.
func ignoreRemoved(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENODEV) {
		return nil
	}
	return err
}
