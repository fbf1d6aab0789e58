package pods

import (
	"fmt"
	"net/netip"
	"strings"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// checkHostPorts rejects host ports on which a process of the machine already listens. A runtime
// would map them and cut off that process, for example the API server. The kubelet has no
// such check.
func (r *Runner) checkHostPorts(config *cri.PodSandboxConfig) error {
	if r.opts.PortInUse == nil {
		return nil
	}
	for _, p := range config.GetPortMappings() {
		protocol := strings.ToLower(p.GetProtocol().String())
		address, _ := netip.ParseAddr(p.GetHostIp()) // the zero address means all addresses
		if listener := r.opts.PortInUse(protocol, address, uint16(p.GetHostPort())); listener != "" {
			return &WaitingError{Reason: "HostPortInUse", Message: fmt.Sprintf("hostPort %d/%s: a process of the node listens on %s: choose another port or stop that process", p.GetHostPort(), protocol, listener)}
		}
	}
	return nil
}
