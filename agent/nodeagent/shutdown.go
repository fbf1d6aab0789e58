//go:build linux

package nodeagent

import (
	"context"
	"os/exec"
	"strings"
	"time"

	"github.com/berthproject/berth/engine/shutdown"
)

// finalStatusDelay is how long the agent keeps running after the last pod has terminated, to
// write its status.
const finalStatusDelay = time.Second

// machineShuttingDown reports whether systemd is shutting the machine down. It is true before
// systemd stops its services.
func machineShuttingDown() bool {
	out, _ := exec.Command("systemctl", "is-system-running").Output() // the exit code carries the same information
	return strings.TrimSpace(string(out)) == "stopping"
}

// shutdownContext returns a context that ends with ctx or, during a machine shutdown, when all
// pods have terminated (KubeletConfiguration's shutdownGracePeriod fields). The agent's systemd
// unit must allow for that time with TimeoutStopSec.
func (n *node) shutdownContext(ctx context.Context, shuttingDown func() bool) (context.Context, context.CancelCauseFunc) {
	extended, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	go func() {
		select {
		case <-extended.Done():
			return
		case <-ctx.Done():
		}
		if total := totalGrace(shutdownClasses(n.opts.Kubelet.Shutdown)); total > 0 && shuttingDown() {
			n.opts.Log.Info("Machine is shutting down, terminating pods", "timeout", total)
			bounded, done := context.WithTimeout(extended, total+time.Second)
			defer done()
			if err := n.agent.Shutdown(bounded, n.opts.Name); err != nil {
				n.opts.Log.Error(err, "Failed to terminate pods during shutdown")
			}
			time.Sleep(finalStatusDelay)
		}
		cancel(nil)
	}()
	return extended, cancel
}

// totalGrace returns the sum of the grace periods of all classes.
func totalGrace(classes []shutdown.Class) (sum time.Duration) {
	for _, c := range classes {
		sum += c.Grace
	}
	return sum
}
