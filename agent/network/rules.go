package network

import (
	"errors"
	"fmt"
	"net/netip"
	"os/exec"
	"strings"
)

// rule is one of the firewall: table, chain, and the rest.
type rule struct {
	table, chain string
	first        bool // before all others of its chain
	args         []string
}

// outside has what pods send elsewhere come from the node's own address.
func outside(bridge string, prefix netip.Prefix) rule {
	return rule{table: "nat", chain: "POSTROUTING", args: append([]string{"-s", prefix.String(), "!", "-o", bridge}, append(comment(bridge, ""), "-j", "MASQUERADE")...)}
}

// passing lets packets of pods through, each way.
func passing(bridge string) (out []rule) {
	for _, way := range []string{"-i", "-o"} {
		out = append(out, rule{table: "filter", chain: "FORWARD", first: true, args: append([]string{way, bridge}, append(comment(bridge, ""), "-j", "ACCEPT")...)})
	}
	return out
}

// comment says whose a rule is, as CNI's plugins say it of theirs: who sweeps after these finds it, too.
func comment(bridge, id string) []string {
	text := fmt.Sprintf("name: %q", bridge)
	if id != "" {
		text += fmt.Sprintf(" id: %q", id)
	}
	return []string{"-m", "comment", "--comment", text}
}

// errNoFirewall is without iptables.
var errNoFirewall = errors.New("iptables is not on PATH")

// connectOutside makes the rules by which pods reach other networks, unless they are there.
func connectOutside(bridge string, prefix netip.Prefix) error {
	if _, err := exec.LookPath("iptables"); err != nil {
		return fmt.Errorf("%w: install it for pods to reach other networks", errNoFirewall)
	}
	if err := forwarding(); err != nil {
		return err
	}
	rules := []rule{outside(bridge, prefix)}
	if drops() {
		rules = append(rules, passing(bridge)...)
	}
	for _, r := range rules {
		if err := r.ensure(); err != nil {
			return err
		}
	}
	return nil
}

// drops says that the machine passes on only what it is told to, as it does where Docker is.
func drops() bool {
	out, err := exec.Command("iptables", "-w", "-S", "FORWARD").Output()
	return err == nil && strings.HasPrefix(string(out), "-P FORWARD DROP")
}

func (r rule) ensure() error {
	if iptables(append([]string{"-w", "-t", r.table, "-C", r.chain}, r.args...)) == nil {
		return nil
	}
	verb := "-A"
	if r.first {
		verb = "-I"
	}
	return iptables(append([]string{"-w", "-t", r.table, verb, r.chain}, r.args...))
}

func iptables(args []string) error {
	out, err := exec.Command("iptables", args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("iptables %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}
