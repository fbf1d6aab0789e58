package nodeagent

import (
	"context"
	"os/exec"
	"strings"
	"time"

	"github.com/berthproject/berth/engine/shutdown"
)

// finalStatusDelay is how long the agent goes on after its last pod has ended, to write that.
const finalStatusDelay = time.Second

// machineShuttingDown says whether the machine is being shut down, and not only the agent ended:
// systemd says so from when it begins, before it asks its services to end.
func machineShuttingDown() bool {
	out, _ := exec.Command("systemctl", "is-system-running").Output() // its exit code says the same in another way
	return strings.TrimSpace(string(out)) == "stopping"
}

// shutdownContext is a context that ends when ctx does and, if the machine is being shut down then,
// the pods have ended that are to have time for it (KubeletConfiguration's shutdownGracePeriod...).
// The unit of the agent has to give it that time (TimeoutStopSec).
func (n *node) shutdownContext(ctx context.Context, stops func() bool) (context.Context, context.CancelCauseFunc) {
	later, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	go func() {
		select {
		case <-later.Done():
			return
		case <-ctx.Done():
		}
		if total := totalGrace(shutdownClasses(n.opts.Kubelet.Shutdown)); total > 0 && stops() {
			n.opts.Log.Info("The machine is being shut down; its pods end first", "within", total)
			bounded, done := context.WithTimeout(later, total+time.Second)
			defer done()
			if err := n.agent.Shutdown(bounded, n.opts.Name); err != nil {
				n.opts.Log.Error(err, "Ending the pods of a machine that is being shut down")
			}
			time.Sleep(finalStatusDelay)
		}
		cancel(nil)
	}()
	return later, cancel
}

// totalGrace is how long all classes have together.
func totalGrace(classes []shutdown.Class) (sum time.Duration) {
	for _, c := range classes {
		sum += c.Grace
	}
	return sum
}
