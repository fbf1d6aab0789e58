//go:build linux

package virtualnode

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/berthproject/berth/agent/cgroup"
)

// Node is a virtual node: a part of the machine with its own cgroup, disk and network.
type Node struct {
	Name string
	// Cgroup is the path below the cgroup mount points, for example /berth-1a2b3c4d/v1.
	Cgroup string
	// Disk is the mount point of the disk.
	Disk string
	// RunDir is a directory with a short path for sockets and mounts, on the machine's tmpfs.
	RunDir string
	// Bridge is the name of the network bridge. The container runtime creates it.
	Bridge string
	// Subnet is the network of the pods, for example 10.200.7.0/24.
	Subnet string

	pool *Pool
}

// Create creates a node. It first removes an existing node of that name.
func (p *Pool) Create(ctx context.Context, o Options) (*Node, error) {
	if problems := validation.IsDNS1123Label(o.Name); len(problems) > 0 {
		return nil, fmt.Errorf("virtual node %q: %s", o.Name, problems[0])
	}
	if o.Memory < MinMemory {
		return nil, fmt.Errorf("virtual node %s: %d bytes of memory: must be at least %dMi", o.Name, o.Memory, MinMemory>>20)
	}
	if o.Disk < MinDisk {
		return nil, fmt.Errorf("virtual node %s: %d bytes of disk: must be at least %dMi", o.Name, o.Disk, MinDisk>>20)
	}
	if err := p.remove(ctx, o.Name); err != nil {
		return nil, err
	}
	subnet, err := p.pickSubnet(o.Index)
	if err != nil {
		return nil, err
	}
	n := &Node{Name: o.Name, Cgroup: filepath.Join(p.cgroup(), o.Name), Disk: filepath.Join(p.dir, o.Name),
		RunDir: filepath.Join(p.runDir(), o.Name), Bridge: fmt.Sprintf("%s%d", p.bridgePrefix(), o.Index), Subnet: subnet, pool: p}
	if err := n.setup(o); err != nil {
		return nil, errors.Join(fmt.Errorf("virtual node %s: %w", o.Name, err), p.remove(ctx, o.Name))
	}
	return n, nil
}

func (n *Node) setup(o Options) error {
	if err := os.MkdirAll(n.pool.dir, 0o700); err != nil {
		return err
	}
	// Root of a user namespace must be able to traverse the path of its root file system.
	if err := os.MkdirAll(n.RunDir, 0o711); err != nil {
		return err
	}
	// All nodes share the CPUs of the machine.
	if err := n.pool.host.Create(n.pool.cgroup(), cgroup.Limits{CPUShares: cgroup.CPUShares(int64(runtime.NumCPU()) * 1000)}); err != nil {
		return err
	}
	if err := n.pool.host.Create(n.Cgroup, cgroup.Limits{Memory: o.Memory, Pids: o.Pids}); err != nil {
		return err
	}
	return makeDisk(n.Disk+imageSuffix, n.Disk, o.Disk, o.Inodes)
}

// RuntimeDir returns the directory of the embedded runtime, on the node's disk.
func (n *Node) RuntimeDir() string { return n.pool.nodeRuntimeDir(n.Name) }

// Remove stops all processes of the node and removes it with its disk. Removing the last node
// also removes the pool.
func (n *Node) Remove(ctx context.Context) error {
	err := errors.Join(n.pool.remove(ctx, n.Name), removeBridge(n.Bridge))
	if len(n.pool.existingNodes()) == 0 {
		err = errors.Join(err, n.pool.Cleanup(ctx))
	}
	return err
}
