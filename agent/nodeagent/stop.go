package nodeagent

import (
	"context"
	"time"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/berthproject/berth/agent/runtime/embedded"
)

// stopTimeout bounds what is asked of the runtime when the agent ends.
const stopTimeout = 5 * time.Second

// reportRunningPods tells what runs on, and removes the pods' network when nothing does.
// What fails then is no failure of the agent: the next one finds what was left.
func (n *node) reportRunningPods() {
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	boxes, err := n.runtime.ListPodSandbox(ctx, nil)
	if err != nil {
		return // a runtime that has ended, too: nobody knows
	}
	ready := 0
	for _, b := range boxes {
		if b.GetState() == cri.PodSandboxState_SANDBOX_READY && b.GetLabels()["berth.dev/node"] == n.opts.Name {
			ready++
		}
	}
	n.opts.OnStop(ready)
	if r, ok := n.runtime.(*embedded.Runtime); ok {
		if err := r.RemoveNetworkIfUnused(ctx); err != nil {
			n.opts.Log.Error(err, "The pods' network is left as it is, for the next agent", "node", n.opts.Name)
		}
	}
}
