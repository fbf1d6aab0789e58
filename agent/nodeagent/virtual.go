//go:build linux

package nodeagent

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

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
	o.Cgroup, o.PodCIDR = node.Cgroup, node.Subnet
	o.NoClusterDNS = true // no Service proxy leads to it
	o.Root, o.Logs, o.Fresh = filepath.Join(node.Disk, "agent"), "", true
	if o.Embedded != nil {
		o.Embedded = &Embedded{Dir: node.RuntimeDir(), Images: filepath.Join(node.Disk, "images"), Builtin: pool.ImageDir(), Bridge: node.Bridge}
		return Run(ctx, o) // removing the node stops all processes
	}
	daemon, socket, err := containerd.Start(ctx, containerd.Options{
		Dir: filepath.Join(node.Disk, "containerd"), State: node.RunDir, PodCIDR: node.Subnet, Bridge: node.Bridge})
	if err != nil {
		return fmt.Errorf("virtual node %s: %w", o.Name, err)
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), removeTimeout)
		defer cancel()
		err = errors.Join(err, daemon.Destroy(ctx))
	}()
	o.Endpoint = socket
	return Run(ctx, o)
}
