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

// Pool is where the virtual nodes of one cluster are. Only one process may use
// a directory at a time; who owns it sees to that.
type Pool struct {
	dir  string // of the disks
	id   string
	host *cgroup.Host
}

// CheckRequirements says why no virtual nodes can be made on this machine; nil: they can.
func CheckRequirements() error {
	if os.Geteuid() != 0 {
		return errors.New("virtual nodes are made of cgroups and mounts: that needs root")
	}
	if _, err := os.Stat("/dev/loop-control"); err != nil {
		return fmt.Errorf("virtual nodes have their disks on loop devices: %w", err)
	}
	_, err := findMkfs()
	return err
}

// NewPool is the place with its disks in dir.
func NewPool(dir string) (*Pool, error) {
	if os.Geteuid() != 0 {
		return nil, errors.New("virtual nodes are made of cgroups and mounts: that needs root")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	host, err := cgroup.Detect()
	if err != nil {
		return nil, fmt.Errorf("virtual nodes: %w", err)
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(dir))
	return &Pool{dir: dir, id: fmt.Sprintf("%08x", h.Sum32()), host: host}, nil
}

// ImageDir is a directory for images that all nodes of the place share. It goes with the last of them.
func (p *Pool) ImageDir() string { return p.dir + "-images" }

// nodeRuntimeDir is where the embedded runtime of a node is.
func (p *Pool) nodeRuntimeDir(name string) string { return filepath.Join(p.dir, name, "runtime") }

// cgroup is the parent of the nodes' cgroups.
func (p *Pool) cgroup() string { return "/berth-" + p.id }

// runDir is where the short-lived files are: in a short path, since sockets' are limited.
func (p *Pool) runDir() string { return filepath.Join("/run", "berth-"+p.id) }

// bridgePrefix starts the names of the nodes' bridges, which have at most 15 letters.
func (p *Pool) bridgePrefix() string { return "bv" + p.id + "-" }

// Cleanup removes all nodes of the place, those that a killed process left behind
// included.
func (p *Pool) Cleanup(ctx context.Context) error {
	var errs []error
	for _, name := range p.leftoverNodes() {
		errs = append(errs, p.remove(ctx, name))
	}
	errs = append(errs, p.removeBridges(), p.removeFirewallRules(ctx), p.host.Remove(ctx, p.cgroup()), ignoreNotExist(os.Remove(p.runDir())), ignoreNotExist(os.Remove(p.dir)), os.RemoveAll(p.ImageDir()))
	return errors.Join(errs...)
}

// removeFirewallRules removes what the networks of the place's nodes have left of rules;
// each is called as its bridge.
func (p *Pool) removeFirewallRules(ctx context.Context) error {
	return network.RemoveRules(ctx, func(network, _ string) bool { return strings.HasPrefix(network, p.bridgePrefix()) })
}

// leftoverNodes are the names of nodes of which anything is there.
func (p *Pool) leftoverNodes() []string {
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

// remove removes all that there is of a node: first who could make more, then
// what runs, then what is mounted.
func (p *Pool) remove(ctx context.Context, name string) error {
	run, disk, group := filepath.Join(p.runDir(), name), filepath.Join(p.dir, name), filepath.Join(p.cgroup(), name)
	killRuntime(run)
	// Its shims are outside of the node's cgroup. Without its disk there are none.
	if err := embedded.Cleanup(ctx, embedded.Options{Dir: p.nodeRuntimeDir(name)}); err != nil {
		return fmt.Errorf("virtual node %s: %w", name, err)
	}
	// A container that an agent was killing when it was killed is frozen, and would not die.
	errs := []error{p.host.Thaw(group), p.host.Kill(group), p.waitUntilEmpty(ctx, group), unmountBelow(run), unmountBelow(disk), p.host.Remove(ctx, group)}
	if err := errors.Join(errs...); err != nil { // a disk that is still mounted must not be emptied
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
