package network

import (
	"fmt"
	"net/netip"
	"os/exec"
	"strings"
)

// rule has what pods send elsewhere come from the node's own address. It is called as CNI's plugins
// call theirs, so that who sweeps after these finds it, too.
func rule(bridge string, prefix netip.Prefix) []string {
	return []string{"POSTROUTING", "-s", prefix.String(), "!", "-o", bridge, "-m", "comment", "--comment", comment(bridge), "-j", "MASQUERADE"}
}

func comment(bridge string) string { return fmt.Sprintf("name: %q", bridge) }

// masquerade makes the rule unless it is there.
func masquerade(bridge string, prefix netip.Prefix) error {
	if _, err := exec.LookPath("iptables"); err != nil {
		return fmt.Errorf("iptables is not on PATH: install it for pods to reach other networks")
	}
	if err := forwarding(); err != nil {
		return err
	}
	if iptables(append([]string{"-C"}, rule(bridge, prefix)...)) == nil {
		return nil
	}
	return iptables(append([]string{"-A"}, rule(bridge, prefix)...))
}

// unmasquerade removes the rules of a bridge, whatever their network.
func unmasquerade(bridge string) error {
	saved, err := exec.Command("iptables", "-w", "-t", "nat", "-S", "POSTROUTING").Output()
	if err != nil {
		return nil // there is no firewall: there are no rules of it
	}
	for line := range strings.Lines(string(saved)) {
		fields := strings.Fields(line)
		if len(fields) < 4 || !strings.Contains(line, fmt.Sprintf(`name: \"%s\"`, bridge)) {
			continue
		}
		for i, f := range fields[:len(fields)-1] {
			if f != "-s" {
				continue
			}
			if prefix, err := netip.ParsePrefix(fields[i+1]); err == nil {
				if err := iptables(append([]string{"-D"}, rule(bridge, prefix)...)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func iptables(args []string) error {
	out, err := exec.Command("iptables", append([]string{"-w", "-t", "nat"}, args...)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("iptables %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}
