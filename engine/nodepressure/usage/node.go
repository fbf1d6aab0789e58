package usage

import (
	"fmt"
	"strings"
	"time"

	"github.com/berthproject/berth/engine/nodepressure"
)

// Capacity is a node's capacity.
type Capacity struct {
	Memory      int64 // bytes
	Allocatable int64 // bytes of memory that all pods may use
	NodeFs      filesystem
	ImageFs     *filesystem // nil: images are on NodeFs
	Split       bool        // writable layers are on NodeFs despite ImageFs
	PIDs        int64
}

type filesystem struct{ bytes, inodes int64 }

const (
	defaultDisk   = 100 << 30
	defaultPIDs   = 32768
	bytesPerInode = 16 << 10 // as mkfs.ext4
)

// ParseCapacity parses a node's capacity annotation, which may be empty. The defaults come from its
// status: bytes of memory, of memory for pods, and of ephemeral storage.
func ParseCapacity(text string, memory, allocatable, storage int64) (c Capacity, err error) {
	c = Capacity{Memory: memory, Allocatable: allocatable, NodeFs: filesystem{bytes: storage}, PIDs: defaultPIDs}
	if storage == 0 {
		c.NodeFs.bytes = defaultDisk
	}
	var images filesystem
	fields := map[string]*int64{"nodefs": &c.NodeFs.bytes, "inodes": &c.NodeFs.inodes, "imagefs": &images.bytes, "imagefs-inodes": &images.inodes, "pids": &c.PIDs}
	for part := range strings.SplitSeq(text, ";") {
		key, amount, ok := strings.Cut(strings.TrimSpace(part), "=")
		switch {
		case key == "":
		case key == "split" && !ok:
			c.Split = true
		case fields[key] == nil || !ok:
			return c, fmt.Errorf("%s: %q: must be nodefs=, inodes=, imagefs=, imagefs-inodes=, pids= or split", CapacityAnnotation, part)
		default:
			if *fields[key], err = Amount(amount); err != nil || *fields[key] == 0 {
				return c, fmt.Errorf("%s: %q: must be an amount above 0, such as 100Gi", CapacityAnnotation, part)
			}
		}
	}
	if images.bytes > 0 {
		c.ImageFs = images.setDefaults()
	}
	c.NodeFs.setDefaults()
	if c.ImageFs == nil && (c.Split || images.inodes > 0) {
		return c, fmt.Errorf("%s: %q: split and imagefs-inodes require imagefs=", CapacityAnnotation, text)
	}
	return c, nil
}

// setDefaults sets the number of inodes if it is not given.
func (f *filesystem) setDefaults() *filesystem {
	if f.inodes == 0 {
		f.inodes = f.bytes / bytesPerInode
	}
	return f
}

// Layout returns how the node's filesystems relate.
func (c *Capacity) Layout() nodepressure.Layout {
	return nodepressure.Layout{DedicatedImageFs: c.ImageFs != nil, DedicatedContainerFs: c.Split}
}

// Node is a simulated node: its capacity and its usage without pods.
type Node struct {
	Capacity   Capacity
	NodeScript Script
	Since      time.Time // when it was first observed
	// images and containers are the bytes reclaimed so far.
	images, containers int64
}

// Reclaim frees unused images and containers.
func (n *Node) Reclaim(now time.Time, c nodepressure.ReclaimNodeResources) {
	if c.Images {
		n.images = n.NodeScript.At(Images, now.Sub(n.Since))
	}
	if c.Containers {
		n.containers = n.NodeScript.At(Containers, now.Sub(n.Since))
	}
}

// Observe returns the observation of the node at now, with the given usage of its pods.
func (n *Node) Observe(now time.Time, pods []PodUsage) (o nodepressure.Observation) {
	age := now.Sub(n.Since)
	nodeUsage := func(key string) int64 { return n.NodeScript.At(key, age) }
	memory, pids := nodeUsage(Memory), nodeUsage(PIDs)
	node, layers := filesystem{nodeUsage(Disk), nodeUsage(Inodes)}, filesystem{}
	var podMemory, cache, refaults int64
	for i := range pods {
		u := &pods[i]
		podMemory += u.memory + u.cache
		cache, refaults, pids = cache+u.cache, refaults+u.refaults, pids+u.stats.Processes
		node.bytes += u.logs + u.volumes
		layers.bytes, layers.inodes = layers.bytes+u.disk, layers.inodes+u.inodes
	}
	layers.bytes += max(nodeUsage(Containers)-n.containers, 0)
	images := filesystem{bytes: max(nodeUsage(Images)-n.images, 0)}
	c := &n.Capacity
	stat := func(s nodepressure.Signal, capacity, used int64) {
		o.Signals[s] = nodepressure.Stat{Known: true, Available: max(capacity-used, 0), Capacity: capacity, Time: now}
	}
	disk := func(s nodepressure.Signal, capacity, used *filesystem) {
		stat(s, capacity.bytes, used.bytes)
		stat(s+1, capacity.inodes, used.inodes) // the signal of the inodes follows that of the bytes
	}
	stat(nodepressure.MemoryAvailable, c.Memory, memory+podMemory)
	stat(nodepressure.AllocatableMemoryAvailable, c.Allocatable, podMemory)
	stat(nodepressure.PIDAvailable, c.PIDs, pids)
	o.PageCache = nodepressure.PageCache{Known: true, Active: cache, Refaults: refaults, StallTime: -1}
	if c.ImageFs == nil || c.Split {
		node.bytes, node.inodes = node.bytes+layers.bytes, node.inodes+layers.inodes
	} else {
		images.bytes, images.inodes = images.bytes+layers.bytes, images.inodes+layers.inodes
	}
	imageFs := c.ImageFs
	if imageFs == nil {
		node.bytes, node.inodes = node.bytes+images.bytes, node.inodes+images.inodes
		imageFs, images = &c.NodeFs, node
	}
	disk(nodepressure.NodeFsAvailable, &c.NodeFs, &node)
	disk(nodepressure.ImageFsAvailable, imageFs, &images)
	if c.Split {
		imageFs, images = &c.NodeFs, node
	}
	disk(nodepressure.ContainerFsAvailable, imageFs, &images)
	o.CheckLimits = true
	return o
}
