package cgroup

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Mode is how a machine's cgroups are mounted.
type Mode string

// The three ways.
const (
	V1     Mode = "v1"
	Hybrid Mode = "hybrid" // v1 with an empty v2 beside
	V2     Mode = "v2"
)

// Host is where a machine's hierarchies are.
type Host struct {
	Mode Mode
	// controllers of version 1 by name, each with its mount point.
	controllers map[string]string
	// unified is the mount point of version 2, "" without.
	unified string
	// proc is /proc, or a recorded one.
	proc string
}

// Detect reads how this machine's cgroups are mounted.
func Detect() (*Host, error) { return DetectAt("/") }

// DetectAt is Find for a recorded tree: root has proc/self/mountinfo in it, and the
// mount points named there.
func DetectAt(root string) (*Host, error) {
	f, err := os.Open(filepath.Join(root, "proc/self/mountinfo"))
	if err != nil {
		return nil, fmt.Errorf("cgroups: where they are mounted is unknown: %w", err)
	}
	defer f.Close()
	h := &Host{controllers: map[string]string{}, proc: filepath.Join(root, "proc")}
	if err := h.parseMounts(f, root); err != nil {
		return nil, err
	}
	switch {
	case h.controllers["memory"] != "" && h.unified != "":
		h.Mode = Hybrid
	case h.controllers["memory"] != "":
		h.Mode = V1
	case h.unified != "":
		h.Mode = V2
	default:
		return nil, errors.New("cgroups: no hierarchy with the memory controller is mounted; mount cgroup2 at /sys/fs/cgroup")
	}
	return h, nil
}

// parseMounts takes hierarchies from lines of mountinfo; of one that is mounted
// twice, the first.
func (h *Host) parseMounts(r io.Reader, root string) error {
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		left, right, ok := strings.Cut(lines.Text(), " - ")
		if !ok {
			continue
		}
		l, r := strings.Fields(left), strings.Fields(right)
		if len(l) < 5 || len(r) < 3 {
			continue
		}
		at := filepath.Join(root, l[4])
		switch r[0] {
		case "cgroup2":
			if h.unified == "" {
				h.unified = at
			}
		case "cgroup":
			for name := range strings.SplitSeq(r[2], ",") {
				if name != "rw" && name != "ro" && h.controllers[name] == "" {
					h.controllers[name] = at
				}
			}
		}
	}
	return lines.Err()
}

// HasController says whether a controller can be used.
func (h *Host) HasController(controller string) bool {
	if h.Mode != V2 {
		return h.controllers[controller] != ""
	}
	all, err := os.ReadFile(filepath.Join(h.unified, "cgroup.controllers"))
	return err == nil && slices.Contains(strings.Fields(string(all)), controller)
}

// Dir is the directory of the cgroup at path in the hierarchy of a controller,
// "" where there is no such hierarchy.
func (h *Host) Dir(controller, path string) string {
	root := h.unified
	if h.Mode != V2 {
		root = h.controllers[controller]
	}
	if root == "" {
		return ""
	}
	return filepath.Join(root, path)
}

// allDirs are the directories of the cgroup at path in all hierarchies, mounted
// names and version 2 included.
func (h *Host) allDirs(path string) []string {
	roots := map[string]bool{}
	for _, at := range h.controllers {
		roots[at] = true
	}
	if h.unified != "" {
		roots[h.unified] = true
	}
	var all []string
	for _, root := range slices.Sorted(maps.Keys(roots)) {
		all = append(all, filepath.Join(root, path))
	}
	return all
}

// Exists says whether the cgroup is there, by its memory.
func (h *Host) Exists(path string) bool {
	_, err := os.Stat(h.Dir("memory", path))
	return err == nil
}

// Children are the paths of the cgroups right below path, in order of name.
func (h *Host) Children(path string) ([]string, error) {
	entries, err := os.ReadDir(h.Dir("memory", path))
	if err != nil {
		return nil, fmt.Errorf("cgroup %s: %w", path, err)
	}
	var all []string
	for _, e := range entries {
		if e.IsDir() {
			all = append(all, filepath.Join(path, e.Name()))
		}
	}
	return all, nil
}
