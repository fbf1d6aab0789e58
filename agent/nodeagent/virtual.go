//go:build linux

package nodeagent

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/berthproject/berth/agent/network"
	"github.com/berthproject/berth/agent/runtime/cri/containerd"
	"github.com/berthproject/berth/agent/virtualnode"
)

// removeTimeout bounds the removal of a virtual node. Processes that use much memory take long to
// exit.
const removeTimeout = time.Minute

// RunVirtual creates a virtual node with its own container runtime, containerd or embedded, and
// runs it until ctx ends. Then it stops the pods and removes the node. It overrides the
// directories and endpoints in o.
func RunVirtual(ctx context.Context, pool *virtualnode.Pool, size virtualnode.Options, o Options) (err error) {
	size.Name = o.Name
	node, err := pool.Create(ctx, size)
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), removeTimeout)
		defer cancel()
		err = errors.Join(err, node.Remove(ctx))
	}()
	o.Cgroup, o.rangeAddress = node.Cgroup, true
	// The data of claims outlives the node's disk, so it is not on that disk. The size of the disk still limits it.
	o.claimBytes = size.Disk
	o.NoClusterDNS = true // no Service proxy routes to the cluster DNS
	o.Root, o.Logs, o.Fresh = filepath.Join(node.Disk, "agent"), "", true
	if o.Embedded != nil {
		o.Embedded = &Embedded{Dir: node.RuntimeDir(), Images: filepath.Join(node.Disk, "images"), Builtin: pool.ImageDir(), Bridge: node.Bridge}
		return Run(ctx, o) // removing the node stops all processes
	}
	var daemon *containerd.Daemon
	o.startRuntime = func(ctx context.Context, o *Options) (err error) {
		// The bridge has the node's address, also before the first pod.
		if err := network.EnsureBridge(node.Bridge, o.PodCIDR); err != nil {
			return err
		}
		daemon, o.Endpoint, err = containerd.Start(ctx, containerd.Options{
			Dir: filepath.Join(node.Disk, "containerd"), State: node.RunDir, PodCIDR: o.PodCIDR, Bridge: node.Bridge})
		return err
	}
	o.virtualBridge = node.Bridge
	defer func() {
		if daemon != nil {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), removeTimeout)
			defer cancel()
			err = errors.Join(err, daemon.Destroy(ctx))
		}
	}()
	return Run(ctx, o)
}
