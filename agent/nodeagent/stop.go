//go:build linux

package nodeagent

import (
	"context"
	"time"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// stopTimeout bounds the calls to the runtime when the agent stops.
const stopTimeout = 5 * time.Second

// reportRunningPods reports how many pods keep running. Errors are ignored: the next agent finds the
// remaining pods.
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
}
