package embedded_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/berthproject/berth/agent/network"
	"github.com/berthproject/berth/internal/testkit"
)

// TestHostPort checks that a host port forwards to the pod, also after a restart of the agent, and
// is closed when the pod is stopped.
func TestHostPort(t *testing.T) {
	if err := network.CheckPortMapping(); err != nil {
		testkit.SkipOrFail(t, "iptables", err.Error())
	}
	h := newHarness(t, true)
	const port = 20090 // outside of the ephemeral range; it is used on the whole machine for a moment
	sb, sandboxConfig := h.createSandbox("ports", func(c *cri.PodSandboxConfig) {
		c.PortMappings = []*cri.PortMapping{{HostPort: port, ContainerPort: 80}}
	})
	h.run(sb, sandboxConfig, config("web", "-listen=:80"))
	responds := func() bool {
		client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		response, err := client.Get(fmt.Sprintf("http://127.0.0.1:%d/", port))
		if err != nil {
			return false
		}
		_ = response.Body.Close()
		return true
	}
	h.waitUntil("the pod responds at the host port", responds)
	h.Restart(t)
	h.waitUntil("the pod still responds after the restart", responds)
	if err := h.Service.StopPodSandbox(context.Background(), sb); err != nil {
		t.Fatal(err)
	}
	if responds() {
		t.Error("the host port responds after the pod was stopped, want it closed")
	}
}
