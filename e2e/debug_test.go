package e2e

import (
	"strings"
	"testing"
)

// testDebug checks that kubectl debug adds debug containers to a running pod, and that they do not restart it.
func (c *virtualNodeCluster) testDebug(t *testing.T) {
	c.run(c.pod("debugged", "", `args: ["-listen=:8080"]`))
	c.mustKubectl("wait", "--for=condition=Ready", "pod/debugged", "--timeout=180s")
	// The container may end before kubectl attaches, so its log counts.
	c.mustKubectl("debug", "-i", "debugged", "--image="+c.image, "--target=main", "-c", "reader", "--", "/workload", "cat", "/proc/1/cmdline")
	c.mustKubectl("wait", "--for=jsonpath={.status.ephemeralContainerStatuses[0].state.terminated.exitCode}=0", "pod/debugged", "--timeout=180s")
	if logs := c.mustKubectl("logs", "debugged", "-c", "reader"); !strings.Contains(logs, "-listen=:8080") {
		t.Errorf("got logs %q, want the command line of the target", logs)
	}
	c.mustKubectl("debug", "debugged", "--image="+c.image, "-c", "idle", "--profile=baseline", "--", "/workload", "-lines=1")
	c.mustKubectl("wait", "--for=jsonpath={.status.ephemeralContainerStatuses[1].state.running}", "pod/debugged", "--timeout=180s")
	if out := c.mustKubectl("exec", "debugged", "-c", "idle", "--", "/workload", "echo", "hello"); out != "hello\n" {
		t.Errorf("exec in a debug container: got %q, want hello", out)
	}
	p := c.get("debugged")
	if s := p.Status.ContainerStatuses[0]; s.RestartCount != 0 || !s.Ready {
		t.Errorf("got status %+v of the debugged container, want ready and not restarted", s)
	}
	if events := c.mustKubectl("describe", "pod", "debugged"); !strings.Contains(events, "spec.ephemeralContainers") && !strings.Contains(events, "Ephemeral Containers:") {
		t.Errorf("describe: got %s, want the ephemeral containers", events)
	}
	if r := c.kubectl("patch", "pod", "debugged", "--subresource", "ephemeralcontainers", "-p", `{"spec":{"ephemeralContainers":[{"name":"x","image":"i","ports":[{"containerPort":1}]}]}}`); r.code == 0 {
		t.Error("a debug container with ports is accepted, want a rejection")
	}
	c.mustKubectl("delete", "pod", "debugged", "--timeout=180s")
}
