//go:build linux

package virtualnode

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/berthproject/berth/agent/cgroup"
	"github.com/berthproject/berth/agent/network"
	"github.com/berthproject/berth/agent/runtime/embedded"
)

// Pool manages the virtual nodes of one cluster. The caller must make sure that only one process
// uses a directory at a time.
type Pool struct {
	dir  string // of the disks
	id   string
	host *cgroup.Host
}

// CheckRequirements returns an error if this machine cannot run virtual nodes.
func CheckRequirements() error {
	if os.Geteuid() != 0 {
		return errors.New("virtual nodes require root: they use cgroups and mounts")
	}
	if _, err := os.Stat("/dev/loop-control"); err != nil {
		return fmt.Errorf("virtual nodes require loop devices: %w", err)
	}
	_, err := findMkfs()
	return err
}

// NewPool returns the pool whose disks are in dir.
func NewPool(dir string) (*Pool, error) {
	if os.Geteuid() != 0 {
		return nil, errors.New("virtual nodes require root: they use cgroups and mounts")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	host, err := cgroup.Detect()
	if err != nil {
		return nil, fmt.Errorf("detecting cgroups for virtual nodes: %w", err)
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(dir))
	return &Pool{dir: dir, id: fmt.Sprintf("%08x", h.Sum32()), host: host}, nil
}

// ImageDir returns the directory of the images that all nodes share. Cleanup removes it.
func (p *Pool) ImageDir() string { return p.dir + "-images" }

func (p *Pool) nodeRuntimeDir(name string) string { return filepath.Join(p.dir, name, "runtime") }

// cgroup returns the parent of the nodes' cgroups.
func (p *Pool) cgroup() string { return "/berth-" + p.id }

// runDir returns the directory of sockets. Its path is short, because socket paths are limited.
func (p *Pool) runDir() string { return "/run/berth-" + p.id }

// bridgePrefix returns the prefix of bridge names, which have at most 15 characters.
func (p *Pool) bridgePrefix() string { return "bv" + p.id + "-" }

// Cleanup removes all nodes of the pool, including those of a killed process.
func (p *Pool) Cleanup(ctx context.Context) error {
	var errs []error
	for _, name := range p.existingNodes() {
		errs = append(errs, p.remove(ctx, name))
	}
	errs = append(errs, p.removeBridges(), p.removeFirewallRules(ctx), p.host.Remove(ctx, p.cgroup()), ignoreNotExist(os.Remove(p.runDir())), ignoreNotExist(os.Remove(p.dir)), os.RemoveAll(p.ImageDir()))
	p.host.RemoveRuntime()
	return errors.Join(errs...)
}

// removeFirewallRules removes the firewall rules of the nodes' networks, which are named by their
// bridges.
func (p *Pool) removeFirewallRules(ctx context.Context) error {
	return network.RemoveRules(ctx, func(bridge, _ string) bool { return strings.HasPrefix(bridge, p.bridgePrefix()) })
}

// existingNodes returns the sorted names of all nodes that have a cgroup, a disk image or a directory.
func (p *Pool) existingNodes() []string {
	var names []string
	for _, dir := range []string{p.dir, p.runDir()} {
		entries, _ := os.ReadDir(dir)
		for _, e := range entries {
			names = append(names, strings.TrimSuffix(e.Name(), imageSuffix))
		}
	}
	if p.host.Exists(p.cgroup()) {
		children, _ := p.host.Children(p.cgroup())
		for _, c := range children {
			names = append(names, filepath.Base(c))
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// remove removes a node: first the runtime, then processes, mounts and files.
func (p *Pool) remove(ctx context.Context, name string) error {
	run, disk, group := filepath.Join(p.runDir(), name), filepath.Join(p.dir, name), filepath.Join(p.cgroup(), name)
	killRuntime(run)
	// Shims are outside of the node's cgroup. Without the disk there are none.
	if err := embedded.Cleanup(ctx, embedded.Options{Dir: p.nodeRuntimeDir(name)}); err != nil {
		return fmt.Errorf("virtual node %s: %w", name, err)
	}
	// A killed agent may have left a cgroup frozen, and its processes would not exit.
	errs := []error{p.host.Thaw(group), p.host.Kill(group), p.waitUntilEmpty(ctx, group), unmountBelow(run), unmountBelow(disk), p.host.Remove(ctx, group)}
	if err := errors.Join(errs...); err != nil { // never delete the files of a mounted disk
		return fmt.Errorf("virtual node %s: %w", name, err)
	}
	return errors.Join(os.RemoveAll(run), ignoreNotExist(os.Remove(disk)), ignoreNotExist(os.Remove(disk+imageSuffix)))
}

func ignoreNotExist(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
