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

// Port is one of the host that leads to a pod.
type Port struct {
	Protocol  string // tcp, udp, sctp
	Host      uint16
	Container uint16
	// Address is that of the host where it is reached; the zero one stands for all.
	Address netip.Addr
}

// ErrPortTaken is of a host port that leads to a pod already, of this node or another one of the machine, whose ports are the same.
var ErrPortTaken = errors.New("it leads already to a pod")

// CheckPortMapping says why no ports can be mapped, nil if they can.
func CheckPortMapping() error {
	for _, program := range []string{"iptables-save", "iptables-restore"} {
		if _, err := exec.LookPath(program); err != nil {
			return errNoIptables
		}
	}
	return nil
}

// MapPorts has ports of the host lead to the pod of id, which has been attached; at once or not at all. Unmap undoes it.
func (n *Network) MapPorts(id string, to netip.Addr, ports []Port) error {
	if err := CheckPortMapping(); err != nil {
		return err
	}
	saved, err := exec.Command("iptables-save", "-t", "nat").Output()
	if err != nil {
		return fmt.Errorf("network %s: host ports: iptables-save: %w", n.opts.Bridge, err)
	}
	for _, p := range ports {
		if who := p.mappedTo(string(saved)); who != "" {
			return fmt.Errorf("network %s: host port %s: %w of network %s: choose another port", n.opts.Bridge, p, ErrPortTaken, who)
		}
	}
	if err = ProtectLoopback(n.opts.Bridge); err != nil { // first: pods must not see the sysctl without it
		return fmt.Errorf("network %s: host ports: %w", n.opts.Bridge, err)
	}
	// What this machine sends to itself may leave by the bridge, too.
	file := "/proc/sys/net/ipv4/conf/" + n.opts.Bridge + "/route_localnet"
	if err = os.WriteFile(file, []byte("1"), 0o644); err != nil {
		return fmt.Errorf("network %s: host ports: %w", n.opts.Bridge, err)
	}
	if err := enableForwarding(); err != nil {
		return fmt.Errorf("network %s: host ports: %w", n.opts.Bridge, err)
	}
	cmd := exec.Command("iptables-restore", "--noflush", "-w", "10")
	cmd.Stdin = strings.NewReader(n.portRules(id, to, ports))
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("network %s: host ports: iptables-restore: %w: %s", n.opts.Bridge, err, strings.TrimSpace(string(out)))
	}
	n.deleteFlows("to a host port that has been mapped", flowsToPorts(ports))
	return nil
}

// portRules is what iptables-restore is told. Packets of the host to itself and of the pod to its own host port come from the bridge's
// address: the pod could not answer the loopback address, nor itself.
func (n *Network) portRules(id string, to netip.Addr, ports []Port) string {
	var b strings.Builder
	b.WriteString("*nat\n")
	whose := fmt.Sprintf(`-m comment --comment "name: \"%s\" id: \"%s\""`, n.opts.Bridge, id)
	for _, p := range ports {
		at := "-m addrtype --dst-type LOCAL"
		if p.Address.IsValid() && !p.Address.IsUnspecified() {
			at += " -d " + p.Address.String()
		}
		for _, chain := range []string{"PREROUTING", "OUTPUT"} {
			fmt.Fprintf(&b, "-I %s -p %s %s --dport %d %s -j DNAT --to-destination %s:%d\n", chain, p.Protocol, at, p.Host, whose, to, p.Container)
		}
		for _, from := range []string{"127.0.0.0/8", to.String()} {
			fmt.Fprintf(&b, "-I POSTROUTING -s %s -d %s -p %s --dport %d %s -j MASQUERADE\n", from, to, p.Protocol, p.Container, whose)
		}
	}
	b.WriteString("COMMIT\n")
	return b.String()
}

// mappedTo says which network's pod the port leads to, "" if none.
func (p Port) mappedTo(rules string) string {
	for line := range strings.Lines(rules) {
		to, ok := strings.CutPrefix(line, "-A PREROUTING ")
		network, id := ruleOwner(line)
		if !ok || id == "" || !strings.Contains(to, "-p "+p.Protocol+" ") || !strings.Contains(to, fmt.Sprintf("--dport %d ", p.Host)) {
			continue
		}
		at := netip.IPv4Unspecified()
		if _, rest, found := strings.Cut(to, "-d "); found {
			text, _, _ := strings.Cut(rest, "/")
			at, _ = netip.ParseAddr(text)
		}
		if addressesOverlap(at, p.Address) {
			return network
		}
	}
	return ""
}

// UnmapPorts removes the host ports of id, and has the kernel forget what goes through them. It may be repeated.
func (n *Network) UnmapPorts(id string) error {
	return n.unmapPorts(func(of string) bool { return of == id })
}

func (n *Network) unmapPorts(gone func(id string) bool) error {
	removed, err := removeRules(context.Background(), "nat", func(network, id string) bool { return network == n.opts.Bridge && id != "" && gone(id) })
	if to := dnatDestinations(removed); len(to) > 0 {
		n.deleteFlows("by a host port that has gone", flowsToPods(to))
	}
	return err
}

// sweepPorts removes host ports of those that keep does not keep.
func (n *Network) sweepPorts(keep func(id string) bool) error {
	if errors.Is(CheckPortMapping(), errNoIptables) {
		return nil
	}
	return n.unmapPorts(func(id string) bool { return !keep(id) })
}
