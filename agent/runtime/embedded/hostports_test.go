package embedded_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"testing"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/berthproject/berth/agent/network"
	"github.com/berthproject/berth/internal/testkit"
)

// A host port leads to the pod, after a restart of the agent, too, and nowhere when the pod is stopped.
func TestHostPort(t *testing.T) {
	if err := network.CanMap(); err != nil {
		testkit.Skip(t, "iptables", err.Error())
	}
	r := newRig(t, true)
	free, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := free.Addr().(*net.TCPAddr).Port
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	box, of := r.box("ports", func(c *cri.PodSandboxConfig) {
		c.PortMappings = []*cri.PortMapping{{HostPort: int32(port), ContainerPort: 80}}
	})
	r.run(box, of, config("web", "-listen=:80"))
	answers := func() bool {
		client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		got, err := client.Get(fmt.Sprintf("http://127.0.0.1:%d/", port))
		if err != nil {
			return false
		}
		_ = got.Body.Close()
		return true
	}
	r.await("the pod answers at the host's port", answers)
	r.Restart(t)
	r.await("it still does", answers)
	if err := r.Service.StopPodSandbox(context.Background(), box); err != nil {
		t.Fatal(err)
	}
	if answers() {
		t.Error("the port answers after the pod was stopped")
	}
}
