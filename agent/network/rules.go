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

// guarding keeps pods from what listens at the host's loopback addresses alone: the sysctl that lets the host's own packets to a mapped
// port leave by the bridge (Map) lets packets to those addresses come in by it, too. What the host itself has begun is answered.
func guarding(bridge string) rule {
	args := []string{"-i", bridge, "-d", "127.0.0.0/8", "-m", "conntrack", "!", "--ctstate", "RELATED,ESTABLISHED,DNAT"}
	return rule{table: "filter", chain: "INPUT", first: true, args: append(append(args, comment(bridge, "")...), "-j", "DROP")}
}

// Guard makes, unless it is there, the rule that keeps pods of a bridge from the host's loopback addresses: for bridges that others make,
// which may not be there yet. RemoveRules finds it.
func Guard(bridge string) error { return guarding(bridge).ensure() }

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

// connectOutside makes the rules by which pods reach other networks, unless they are there: all that can be made. Those that let packets
// pass are needed where the machine passes on only what it is told to, as it does from the moment that Docker is started, which may be later.
func connectOutside(bridge string, prefix netip.Prefix) error {
	if _, err := exec.LookPath("iptables"); err != nil {
		return fmt.Errorf("%w: install it for pods to reach other networks", errNoFirewall)
	}
	if err := forwarding(); err != nil {
		return err
	}
	var errs []error
	// The guard is made anew for a bridge that has had ports before.
	for _, r := range append(passing(bridge), outside(bridge, prefix), guarding(bridge)) {
		errs = append(errs, r.ensure())
	}
	return errors.Join(errs...)
}

// ensure makes the rule unless it is there.
func (r rule) ensure() error {
	err := iptables(append([]string{"-w", "-t", r.table, "-C", r.chain}, r.args...))
	// 1 says that there is no such rule; all else that it is not known: made once more it would be there twice.
	if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || exit.ExitCode() != 1 {
		return err
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
