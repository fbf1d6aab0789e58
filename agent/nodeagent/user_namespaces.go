//go:build linux

package nodeagent

import (
	"path/filepath"

	"github.com/berthproject/berth/agent/userns"
)

// newUserNamespaces returns the allocator of user IDs for pods with their own user namespace. It returns nil
// if the machine's configuration has no valid ranges. The node then refuses these pods, but no others.
func (n *node) newUserNamespaces() *userns.Allocator {
	o, k := &n.opts, &n.opts.Kubelet
	ids, err := userns.NodeRange("/etc/subuid", "/etc/subgid", k.UserNamespaceIDs, maxPods(k))
	if err == nil {
		var a *userns.Allocator
		if a, err = userns.NewAllocator(ids, k.UserNamespaceIDs, filepath.Join(o.Root, "pods")); err == nil {
			return a
		}
	}
	o.Log.Error(err, "No user IDs for pods with hostUsers false, refusing these pods", "node", o.Name)
	return nil
}
