package pods

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/berthproject/berth/agent/runtime"
)

// TestHostPortInUse checks that a pod does not get a host port on which a process listens, and
// that its status names the process.
func TestHostPortInUse(t *testing.T) {
	r := &Runner{opts: Options{PortInUse: func(protocol string, address netip.Addr, port uint16) string {
		if protocol == "tcp" && port == 6443 && !address.IsValid() {
			return "[::]:6443"
		}
		return ""
	}}}
	config := func(port int32) *cri.PodSandboxConfig {
		return &cri.PodSandboxConfig{PortMappings: []*cri.PortMapping{{HostPort: 8443, ContainerPort: 80, HostIp: "127.0.0.1"}, {HostPort: port, ContainerPort: 443}}}
	}
	var wait *WaitingError
	err := r.checkHostPorts(config(6443))
	if !errors.As(err, &wait) || wait.Reason != "HostPortInUse" || !strings.Contains(wait.Message, "hostPort 6443/tcp") || !strings.Contains(wait.Message, "[::]:6443") {
		t.Errorf("%v, want HostPortInUse with the port and its listener", err)
	}
	if err := r.checkHostPorts(config(6444)); err != nil {
		t.Errorf("free ports: %v, want no error", err)
	}
}

// TestHostPortOfAnotherNode checks the status if the runtime reports that a pod of another node
// uses the host port.
func TestHostPortOfAnotherNode(t *testing.T) {
	var wait *WaitingError
	err := sandboxError(runtime.HostPortInUse(errors.New("already mapped to a pod of network b")))
	if !errors.As(err, &wait) || wait.Reason != "HostPortInUse" || !strings.Contains(wait.Message, "network b") {
		t.Errorf("%v, want HostPortInUse with the network", err)
	}
	if err := sandboxError(errors.New("the disk is full")); errors.As(err, &wait) {
		t.Errorf("%v, want no WaitingError", err)
	}
}
