package network

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"strings"
)

// Port maps a host port to a pod.
type Port struct {
	Protocol  string // tcp, udp or sctp
	Host      uint16 // port of the machine
	Container uint16 // port of the pod
	// Address is the host address; the zero value means all.
	Address netip.Addr
}

// ErrPortMapped means that the host port is already mapped to a pod, perhaps of another node on
// the same machine.
var ErrPortMapped = errors.New("already mapped to a pod")

// CheckPortMapping returns an error if host ports cannot be mapped.
func CheckPortMapping() error {
	for _, program := range []string{"iptables-save", "iptables-restore"} {
		if _, err := exec.LookPath(program); err != nil {
			return errNoIptables
		}
	}
	return nil
}

// MapPorts atomically maps host ports to an attached pod. UnmapPorts removes the mapping.
func (n *Network) MapPorts(id string, address netip.Addr, ports []Port) error {
	if err := CheckPortMapping(); err != nil {
		return err
	}
	saved, err := exec.Command("iptables-save", "-t", "nat").Output()
	if err != nil {
		return fmt.Errorf("network %s: host ports: iptables-save: %w", n.opts.Bridge, err)
	}
	for _, p := range ports {
		if network := p.mappedTo(string(saved)); network != "" {
			return fmt.Errorf("network %s: host port %s: %w of network %s: choose another port", n.opts.Bridge, p, ErrPortMapped, network)
		}
	}
	if err = ProtectLoopback(n.opts.Bridge); err != nil { // before the sysctl, which gives pods access to loopback addresses
		return fmt.Errorf("network %s: host ports: %w", n.opts.Bridge, err)
	}
	// route_localnet lets packets from the host to itself leave through the bridge.
	file := "/proc/sys/net/ipv4/conf/" + n.opts.Bridge + "/route_localnet"
	if err = os.WriteFile(file, []byte("1"), 0o644); err != nil {
		return fmt.Errorf("network %s: host ports: %w", n.opts.Bridge, err)
	}
	if err := enableForwarding(); err != nil {
		return fmt.Errorf("network %s: host ports: %w", n.opts.Bridge, err)
	}
	cmd := exec.Command("iptables-restore", "--noflush", "-w", "10")
	cmd.Stdin = strings.NewReader(n.portRules(id, address, ports))
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("network %s: host ports: iptables-restore: %w: %s", n.opts.Bridge, err, strings.TrimSpace(string(out)))
	}
	n.deleteFlows("to a newly mapped host port", flowsToPorts(ports))
	return nil
}

// portRules returns the input of iptables-restore. The rules masquerade packets from the host to itself and from a pod to
// its own host port. Otherwise the pod could not respond, because the source would be a loopback address or the pod itself.
func (n *Network) portRules(id string, address netip.Addr, ports []Port) string {
	var b strings.Builder
	b.WriteString("*nat\n")
	comment := fmt.Sprintf(`-m comment --comment "name: \"%s\" id: \"%s\""`, n.opts.Bridge, id)
	for _, p := range ports {
		destination := "-m addrtype --dst-type LOCAL"
		if p.Address.IsValid() && !p.Address.IsUnspecified() {
			destination += " -d " + p.Address.String()
		}
		for _, chain := range []string{"PREROUTING", "OUTPUT"} {
			fmt.Fprintf(&b, "-I %s -p %s %s --dport %d %s -j DNAT --to-destination %s:%d\n", chain, p.Protocol, destination, p.Host, comment, address, p.Container)
		}
		for _, source := range []string{"127.0.0.0/8", address.String()} {
			fmt.Fprintf(&b, "-I POSTROUTING -s %s -d %s -p %s --dport %d %s -j MASQUERADE\n", source, address, p.Protocol, p.Container, comment)
		}
	}
	b.WriteString("COMMIT\n")
	return b.String()
}

// mappedTo returns the network of the pod to which the port is mapped, or "" if it is not mapped.
func (p Port) mappedTo(rules string) string {
	for line := range strings.Lines(rules) {
		rule, ok := strings.CutPrefix(line, "-A PREROUTING ")
		network, id := ruleOwner(line)
		if !ok || id == "" || !strings.Contains(rule, "-p "+p.Protocol+" ") || !strings.Contains(rule, fmt.Sprintf("--dport %d ", p.Host)) {
			continue
		}
		address := netip.IPv4Unspecified()
		if _, rest, found := strings.Cut(rule, "-d "); found {
			text, _, _ := strings.Cut(rest, "/")
			address, _ = netip.ParseAddr(text)
		}
		if addressesOverlap(address, p.Address) {
			return network
		}
	}
	return ""
}

// UnmapPorts removes the host ports of id and their conntrack entries. It is idempotent.
func (n *Network) UnmapPorts(id string) error {
	return n.unmapPorts(func(owner string) bool { return owner == id })
}

func (n *Network) unmapPorts(match func(id string) bool) error {
	removed, err := removeRules(context.Background(), "nat", func(network, id string) bool { return network == n.opts.Bridge && id != "" && match(id) })
	if pods := dnatDestinations(removed); len(pods) > 0 {
		n.deleteFlows("through a removed host port", flowsToPods(pods))
	}
	return err
}

// gcPorts removes the host ports of owners for which keep returns false.
func (n *Network) gcPorts(keep func(id string) bool) error {
	if errors.Is(CheckPortMapping(), errNoIptables) {
		return nil
	}
	return n.unmapPorts(func(id string) bool { return !keep(id) })
}
