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
func (n *node) leave() error {
	ctx, cancel := context.WithTimeout(context.Background(), leavePatience)
	defer cancel()
	boxes, err := n.service.ListPodSandbox(ctx, nil)
	if err != nil {
		return nil // a runtime that has ended, too: nobody knows
	}
	ready := 0
	for _, b := range boxes {
		if b.GetState() == cri.PodSandboxState_SANDBOX_READY && b.GetLabels()["berth.dev/node"] == n.opts.Name {
			ready++
		}
	}
	n.opts.Left(ready)
	if r, ok := n.service.(*embedded.Runtime); ok {
		return r.LeaveNetwork()
	}
	return nil
}
