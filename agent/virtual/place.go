package virtual

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

// Place is where the virtual nodes of one cluster are. Only one process may use
// a directory at a time; who owns it sees to that.
type Place struct {
	dir  string // of the disks
	id   string
	host *cgroup.Host
}

// Missing says why no virtual nodes can be made on this machine; nil: they can.
func Missing() error {
	if os.Geteuid() != 0 {
		return errors.New("virtual nodes are made of cgroups and mounts: that needs root")
	}
	if _, err := os.Stat("/dev/loop-control"); err != nil {
		return fmt.Errorf("virtual nodes have their disks on loop devices: %w", err)
	}
	_, err := mkfs()
	return err
}

// At is the place with its disks in dir.
func At(dir string) (*Place, error) {
	if os.Geteuid() != 0 {
		return nil, errors.New("virtual nodes are made of cgroups and mounts: that needs root")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	host, err := cgroup.Find()
	if err != nil {
		return nil, fmt.Errorf("virtual nodes: %w", err)
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(dir))
	return &Place{dir: dir, id: fmt.Sprintf("%08x", h.Sum32()), host: host}, nil
}

// Images is a directory for images that all nodes of the place share. It goes with the last of them.
func (p *Place) Images() string { return p.dir + "-images" }

// runtimeOf is where the embedded runtime of a node is.
func (p *Place) runtimeOf(name string) string { return filepath.Join(p.dir, name, "runtime") }

// cgroup is the parent of the nodes' cgroups.
func (p *Place) cgroup() string { return "/berth-" + p.id }

// run is where the short-lived files are: in a short path, since sockets' are limited.
func (p *Place) run() string { return filepath.Join("/run", "berth-"+p.id) }

// bridgePrefix starts the names of the nodes' bridges, which have at most 15 letters.
func (p *Place) bridgePrefix() string { return "bv" + p.id + "-" }

// Sweep removes all nodes of the place, those that a killed process left behind
// included.
func (p *Place) Sweep(ctx context.Context) error {
	var errs []error
	for _, name := range p.left() {
		errs = append(errs, p.remove(ctx, name))
	}
	errs = append(errs, p.removeBridges(), p.removeRules(ctx), p.host.Remove(ctx, p.cgroup()), gone(os.Remove(p.run())), gone(os.Remove(p.dir)), os.RemoveAll(p.Images()))
	return errors.Join(errs...)
}

// removeRules removes what the networks of the place's nodes have left of rules;
// each is called as its bridge.
func (p *Place) removeRules(ctx context.Context) error {
	return network.RemoveRules(ctx, func(network, _ string) bool { return strings.HasPrefix(network, p.bridgePrefix()) })
}

// left are the names of nodes of which anything is there.
func (p *Place) left() []string {
	var names []string
	for _, dir := range []string{p.dir, p.run()} {
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
func (p *Place) remove(ctx context.Context, name string) error {
	run, disk, group := filepath.Join(p.run(), name), filepath.Join(p.dir, name), filepath.Join(p.cgroup(), name)
	killRuntime(run)
	// Its shims are outside of the node's cgroup. Without its disk there are none.
	if err := embedded.Wipe(ctx, embedded.Options{Dir: p.runtimeOf(name)}); err != nil {
		return fmt.Errorf("virtual node %s: %w", name, err)
	}
	// A container that an agent was killing when it was killed is frozen, and would not die.
	errs := []error{p.host.Thaw(group), p.host.Kill(group), p.awaitEmpty(ctx, group), unmountBelow(run), unmountBelow(disk), p.host.Remove(ctx, group)}
	if err := errors.Join(errs...); err != nil { // a disk that is still mounted must not be emptied
		return fmt.Errorf("virtual node %s: %w", name, err)
	}
	return errors.Join(os.RemoveAll(run), gone(os.Remove(disk)), gone(os.Remove(disk+imageSuffix)))
}

func gone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
