package plugins

import (
	"strconv"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement/framework"
)

// AnyIP is the address that stands for all addresses of a node.
const AnyIP = "0.0.0.0"

// nodePorts rejects nodes on which a host port of the pod is in use.
func nodePorts(ev *framework.Evaluation) framework.PreFilterState {
	ports := ev.Pod.Spec.Ports
	if len(ports) == 0 {
		return framework.PreFilterState{}
	}
	return framework.PreFilterState{Filter: func(candidate *framework.CandidateNode) decision.Verdict {
		for i := range ports {
			if PortConflict(candidate.Ports, &ports[i]) {
				return framework.Reject(decision.Unschedulable, decision.Reason{
					Kind: decision.ReasonPorts, Subject: formatPort(&ports[i]), Object: portHolder(candidate.Pods, &ports[i])})
			}
		}
		return decision.Verdict{}
	}}
}

// PortConflict reports whether a host port is in use: same protocol and port, and the same
// address or AnyIP on either side.
func PortConflict(used []model.HostPort, port *model.HostPort) bool {
	if port.Port <= 0 {
		return false
	}
	for i := range used {
		u := &used[i]
		if u.Port == port.Port && u.Protocol == port.Protocol && (u.IP == port.IP || u.IP == AnyIP || port.IP == AnyIP) {
			return true
		}
	}
	return false
}

// portHolder returns the key of the first pod that uses the port.
func portHolder(pods []*model.Pod, port *model.HostPort) string {
	for _, p := range pods {
		if PortConflict(p.Spec.Ports, port) {
			return p.Key()
		}
	}
	return ""
}

func formatPort(p *model.HostPort) string {
	return p.IP + ":" + strconv.Itoa(int(p.Port)) + "/" + p.Protocol
}
