package real

import (
	"context"
	"time"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/berthproject/berth/agent/runtime/embedded"
)

// leavePatience bounds what is asked of the runtime when the agent ends.
const leavePatience = 5 * time.Second

// leave tells what runs on, and removes the pods' network when nothing does.
// What fails then is no failure of the agent: the next one finds what was left.
func (n *node) leave() {
	ctx, cancel := context.WithTimeout(context.Background(), leavePatience)
	defer cancel()
	boxes, err := n.service.ListPodSandbox(ctx, nil)
	if err != nil {
		return // a runtime that has ended, too: nobody knows
	}
	ready := 0
	for _, b := range boxes {
		if b.GetState() == cri.PodSandboxState_SANDBOX_READY && b.GetLabels()["berth.dev/node"] == n.opts.Name {
			ready++
		}
	}
	n.opts.Left(ready)
	if r, ok := n.service.(*embedded.Runtime); ok {
		if err := r.LeaveNetwork(ctx); err != nil {
			n.opts.Log.Error(err, "The pods' network is left as it is, for the next agent", "node", n.opts.Name)
		}
	}
}
