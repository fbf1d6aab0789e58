package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/berthproject/berth/agent/virtualnode"
	"github.com/berthproject/berth/internal/localnodes"
)

// validate checks the flags, selects the container runtimes, and checks whether this machine can run the nodes.
func (f *upLocalNodes) validate() error {
	if f.virtualNodes < 0 || f.virtualNodes > 100 {
		return fmt.Errorf("--virtual-nodes %d: must be between 0 and 100", f.virtualNodes)
	}
	memory, err := localnodes.ParsePositiveQuantity("--virtual-memory", f.memory, "2Gi")
	if err != nil {
		return err
	}
	disk, err := localnodes.ParsePositiveQuantity("--virtual-disk", f.disk, "2Gi")
	if err != nil {
		return err
	}
	if err := f.checkFlagDependencies(); err != nil {
		return err
	}
	if err := errors.Join(validateLowDisk(f.lowDisk), validateInsecureRegistries(f.insecureRegistries), f.kubelet.validateLabels()); err != nil {
		return err
	}
	if err := f.checkSizes(memory.Value(), disk.Value()); err != nil {
		return err
	}
	f.size = virtualnode.Options{Memory: memory.Value(), Disk: disk.Value(), Inodes: f.inodes}
	return f.chooseRuntimes()
}

func requireRoot() error {
	if os.Geteuid() == 0 {
		return nil
	}
	return errors.New("a node agent creates cgroups and mounts, which requires root")
}

// checkRuntime returns why no CRI runtime can run pods on this machine, or nil.
func (f *upLocalNodes) checkRuntime() error {
	if !socketExists(f.endpoint) {
		return fmt.Errorf("no container runtime listens at %s: start containerd or set --runtime-endpoint; --virtual-nodes starts its own", f.endpoint)
	}
	return localnodes.CheckCRI(f.runtime, f.endpoint)
}

// checkFlagDependencies rejects flags whose kind of node is not enabled. It returns the error of the first in
// alphabetical order.
func (f *upLocalNodes) checkFlagDependencies() error {
	enabled := map[string]bool{"real-node": f.realNode, "virtual-nodes": f.virtualNodes > 0, "real-node or --virtual-nodes": f.enabled()}
	required := map[string]string{"virtual-memory": "virtual-nodes", "virtual-disk": "virtual-nodes", "virtual-inodes": "virtual-nodes",
		"runtime-endpoint": "real-node", "root-dir": "real-node", "runtime": "real-node or --virtual-nodes", "allow-simulated": "real-node or --virtual-nodes"}
	for _, flag := range kubeletRealFlags {
		required[flag] = "real-node or --virtual-nodes"
	}
	for _, flag := range slices.Sorted(maps.Keys(required)) {
		kind := required[flag]
		if f.flags != nil && f.flags.Changed(flag) && !enabled[kind] {
			return fmt.Errorf("--%s: has no effect without --%s", flag, kind)
		}
	}
	return nil
}

const (
	// maxVirtualDisk is the maximum file size on ext4 with 4 KiB blocks.
	maxVirtualDisk = 16 << 40
	// minVirtualInodes is what containerd and a few small images need.
	minVirtualInodes = 500
)

// checkSizes rejects sizes with which a virtual node could not run pods.
func (f *upLocalNodes) checkSizes(memory, disk int64) error {
	total, err := localnodes.MachineMemory()
	if err != nil {
		return err
	}
	switch {
	case memory < virtualnode.MinMemory:
		return fmt.Errorf("--virtual-memory %s: must be at least %dMi", f.memory, virtualnode.MinMemory>>20)
	case memory > total:
		return fmt.Errorf("--virtual-memory %s: must be at most the machine's %dMi", f.memory, total>>20)
	case disk < virtualnode.MinDisk:
		return fmt.Errorf("--virtual-disk %s: must be at least %dMi", f.disk, virtualnode.MinDisk>>20)
	case disk > maxVirtualDisk:
		return fmt.Errorf("--virtual-disk %s: must be at most 16Ti", f.disk)
	case f.virtualNodes > 0 && disk <= f.lowDisk<<20:
		return fmt.Errorf("--virtual-disk %s: must be above --low-diskspace-threshold-mb %d, or the node accepts no pods", f.disk, f.lowDisk)
	case f.inodes < 0 || f.inodes > 0 && f.inodes < minVirtualInodes:
		return fmt.Errorf("--virtual-inodes %d: must be at least %d, or 0", f.inodes, minVirtualInodes)
	}
	return nil
}
