//go:build linux

package nodeagent

import (
	"context"
	"time"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/berthproject/berth/agent/runtime/embedded"
)

// stopTimeout bounds the calls to the runtime when the agent stops.
const stopTimeout = 5 * time.Second

// reportRunningPods reports how many pods keep running, and removes the pod network if there are
// none. Errors are ignored: the next agent finds the remaining pods.
func (n *node) reportRunningPods() {
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	sandboxes, err := n.runtime.ListPodSandbox(ctx, nil)
	if err != nil {
		return // the runtime has stopped, too
	}
	ready := 0
	for _, b := range sandboxes {
		if b.GetState() == cri.PodSandboxState_SANDBOX_READY && b.GetLabels()["berth.dev/node"] == n.opts.Name {
			ready++
		}
	}
	n.opts.OnStop(ready)
	if r, ok := n.runtime.(*embedded.Runtime); ok {
		if err := r.RemoveNetworkIfUnused(ctx); err != nil {
			n.opts.Log.Error(err, "Failed to remove the pod network, leaving it for the next agent", "node", n.opts.Name)
		}
	}
}
