package pods

import (
	"fmt"
	"net/netip"
	"strings"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// checkHostPorts refuses host ports at which somebody listens on the machine: runtimes map them all the same, and whoever
// listens there, such as the API server, is never heard of again. The kubelet does not look.
func (r *Runner) checkHostPorts(config *cri.PodSandboxConfig) error {
	if r.opts.PortInUse == nil {
		return nil
	}
	for _, p := range config.GetPortMappings() {
		protocol := strings.ToLower(p.GetProtocol().String())
		at, _ := netip.ParseAddr(p.GetHostIp()) // the zero one is all of them
		if who := r.opts.PortInUse(protocol, at, uint16(p.GetHostPort())); who != "" {
			return &WaitingError{Reason: "HostPortInUse", Message: fmt.Sprintf("hostPort %d/%s: a program of the node listens at %s: choose another port, or end that program", p.GetHostPort(), protocol, who)}
		}
	}
	return nil
}
