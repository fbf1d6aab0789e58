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
	prepend      bool // before all others of its chain
	args         []string
}

// masqueradeRule has what pods send elsewhere come from the node's own address.
func masqueradeRule(bridge string, prefix netip.Prefix) rule {
	return rule{table: "nat", chain: "POSTROUTING", args: append([]string{"-s", prefix.String(), "!", "-o", bridge}, append(commentArgs(bridge, ""), "-j", "MASQUERADE")...)}
}

// forwardRules lets packets of pods through, each way.
func forwardRules(bridge string) (out []rule) {
	for _, way := range []string{"-i", "-o"} {
		out = append(out, rule{table: "filter", chain: "FORWARD", prepend: true, args: append([]string{way, bridge}, append(commentArgs(bridge, ""), "-j", "ACCEPT")...)})
	}
	return out
}

// loopbackRule keeps pods from what listens at the host's loopback addresses alone: the sysctl that lets the host's own packets to a mapped
// port leave by the bridge (Map) lets packets to those addresses come in by it, too. What the host itself has begun is answered.
func loopbackRule(bridge string) rule {
	args := []string{"-i", bridge, "-d", "127.0.0.0/8", "-m", "conntrack", "!", "--ctstate", "RELATED,ESTABLISHED,DNAT"}
	return rule{table: "filter", chain: "INPUT", prepend: true, args: append(append(args, commentArgs(bridge, "")...), "-j", "DROP")}
}

// ProtectLoopback makes, unless it is there, the rule that keeps pods of a bridge from the host's loopback addresses: for bridges that others make,
// which may not be there yet. RemoveRules finds it.
func ProtectLoopback(bridge string) error { return loopbackRule(bridge).ensure() }

// commentArgs says whose a rule is, as CNI's plugins say it of theirs: who sweeps after these finds it, too.
func commentArgs(bridge, id string) []string {
	text := fmt.Sprintf("name: %q", bridge)
	if id != "" {
		text += fmt.Sprintf(" id: %q", id)
	}
	return []string{"-m", "comment", "--comment", text}
}

// errNoIptables is without iptables.
var errNoIptables = errors.New("iptables is not on PATH")

// ensureRules makes the rules by which pods reach other networks, unless they are there: all that can be made. Those that let packets
// pass are needed where the machine passes on only what it is told to, as it does from the moment that Docker is started, which may be later.
func ensureRules(bridge string, prefix netip.Prefix) error {
	if _, err := exec.LookPath("iptables"); err != nil {
		return fmt.Errorf("%w: install it for pods to reach other networks", errNoIptables)
	}
	if err := enableForwarding(); err != nil {
		return err
	}
	var errs []error
	// The guard is made anew for a bridge that has had ports before.
	for _, r := range append(forwardRules(bridge), masqueradeRule(bridge, prefix), loopbackRule(bridge)) {
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
	if r.prepend {
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
