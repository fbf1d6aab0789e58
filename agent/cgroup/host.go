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

// Mode is the way a machine mounts its cgroups.
type Mode string

// Modes.
const (
	V1     Mode = "v1"
	Hybrid Mode = "hybrid" // v1 with a mostly empty v2 hierarchy
	V2     Mode = "v2"
)

// Host gives access to the cgroup hierarchies of a machine.
type Host struct {
	Mode Mode
	// controllers maps v1 controllers to their mount points.
	controllers map[string]string
	// unified is the mount point of v2, "" if it is not mounted.
	unified string
	// proc is /proc or a recorded copy.
	proc string
}

// Detect finds the cgroup hierarchies of this machine.
func Detect() (*Host, error) { return DetectAt("/") }

// DetectAt is Detect for a recorded tree, which contains proc/self/mountinfo and the mount
// points listed there.
func DetectAt(root string) (*Host, error) {
	f, err := os.Open(filepath.Join(root, "proc/self/mountinfo"))
	if err != nil {
		return nil, fmt.Errorf("detecting cgroups: %w", err)
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
		return nil, errors.New("detecting cgroups: no hierarchy with the memory controller is mounted; mount cgroup2 at /sys/fs/cgroup")
	}
	return h, nil
}

// parseMounts reads mountinfo. If a hierarchy is mounted more than once, it uses the first mount.
func (h *Host) parseMounts(r io.Reader, root string) error {
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		mountPart, sourcePart, ok := strings.Cut(lines.Text(), " - ")
		if !ok {
			continue
		}
		mount, source := strings.Fields(mountPart), strings.Fields(sourcePart)
		if len(mount) < 5 || len(source) < 3 {
			continue
		}
		mountPoint := filepath.Join(root, mount[4])
		switch source[0] {
		case "cgroup2":
			if h.unified == "" {
				h.unified = mountPoint
			}
		case "cgroup":
			for name := range strings.SplitSeq(source[2], ",") {
				if name != "rw" && name != "ro" && h.controllers[name] == "" {
					h.controllers[name] = mountPoint
				}
			}
		}
	}
	return lines.Err()
}

// HasController reports whether a controller is available.
func (h *Host) HasController(controller string) bool {
	if h.Mode != V2 {
		return h.controllers[controller] != ""
	}
	controllers, err := os.ReadFile(filepath.Join(h.unified, "cgroup.controllers"))
	return err == nil && slices.Contains(strings.Fields(string(controllers)), controller)
}

// Dir returns the directory of the cgroup in the controller's hierarchy, or "" if the controller
// is not mounted.
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

// allDirs returns the directories of the cgroup in all hierarchies.
func (h *Host) allDirs(path string) []string {
	roots := map[string]bool{}
	for _, mountPoint := range h.controllers {
		roots[mountPoint] = true
	}
	if h.unified != "" {
		roots[h.unified] = true
	}
	var dirs []string
	for _, root := range slices.Sorted(maps.Keys(roots)) {
		dirs = append(dirs, filepath.Join(root, path))
	}
	return dirs
}

// Exists reports whether the cgroup exists in the memory hierarchy.
func (h *Host) Exists(path string) bool {
	_, err := os.Stat(h.Dir("memory", path))
	return err == nil
}

// Children returns the paths of the direct children, sorted by name.
func (h *Host) Children(path string) ([]string, error) {
	entries, err := os.ReadDir(h.Dir("memory", path))
	if err != nil {
		return nil, fmt.Errorf("cgroup %s: %w", path, err)
	}
	var children []string
	for _, e := range entries {
		if e.IsDir() {
			children = append(children, filepath.Join(path, e.Name()))
		}
	}
	return children, nil
}
