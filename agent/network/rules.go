package network

import (
	"errors"
	"fmt"
	"net/netip"
	"os/exec"
	"strings"
)

// rule is an iptables rule.
type rule struct {
	table, chain string
	prepend      bool // insert at the start of the chain
	args         []string
}

// masqueradeRule replaces the source address of packets from pods to other networks with the machine's
// address.
func masqueradeRule(bridge string, prefix netip.Prefix) rule {
	return rule{table: "nat", chain: "POSTROUTING", args: append([]string{"-s", prefix.String(), "!", "-o", bridge}, append(commentArgs(bridge, ""), "-j", "MASQUERADE")...)}
}

// forwardRules accept forwarded packets from and to pods.
func forwardRules(bridge string) (out []rule) {
	for _, direction := range []string{"-i", "-o"} {
		out = append(out, rule{table: "filter", chain: "FORWARD", prepend: true, args: append([]string{direction, bridge}, append(commentArgs(bridge, ""), "-j", "ACCEPT")...)})
	}
	return out
}

// loopbackRule denies pods access to the host's loopback addresses. route_localnet, which
// MapPorts sets for the host's own packets, would allow it. Replies to connections of the host
// are accepted.
func loopbackRule(bridge string) rule {
	args := []string{"-i", bridge, "-d", "127.0.0.0/8", "-m", "conntrack", "!", "--ctstate", "RELATED,ESTABLISHED,DNAT"}
	return rule{table: "filter", chain: "INPUT", prepend: true, args: append(append(args, commentArgs(bridge, "")...), "-j", "DROP")}
}

// ProtectLoopback adds the rule that denies pods access to the host's loopback addresses. The
// bridge may be managed by another program and need not exist. RemoveRules removes the rule.
func ProtectLoopback(bridge string) error { return loopbackRule(bridge).ensure() }

// commentArgs returns the arguments for a comment in the format of the CNI plugins. The comment identifies the rules.
func commentArgs(bridge, id string) []string {
	text := fmt.Sprintf("name: %q", bridge)
	if id != "" {
		text += fmt.Sprintf(" id: %q", id)
	}
	return []string{"-m", "comment", "--comment", text}
}

// errNoIptables means that iptables is not installed.
var errNoIptables = errors.New("iptables is not on PATH")

// ensureRules adds the missing rules for traffic between pods and other networks. The forward rules are needed if the
// default policy of iptables is DROP. Docker sets this policy when it starts, which may be later. If the kernel has no
// nftables, an iptables rule masquerades. It also masquerades packets to pods of other nodes on this machine.
func ensureRules(bridge string, prefix netip.Prefix) error {
	err := Masquerade(bridge, prefix)
	if _, lookErr := exec.LookPath("iptables"); lookErr != nil {
		return err
	}
	// The bridge may have host ports of an earlier agent, which require the loopback rule.
	rules := append(forwardRules(bridge), loopbackRule(bridge))
	var errs []error
	if err != nil {
		rules = append(rules, masqueradeRule(bridge, prefix))
	} else { // remove the rule of an earlier version
		errs = append(errs, masqueradeRule(bridge, prefix).remove())
	}
	for _, r := range rules {
		errs = append(errs, r.ensure())
	}
	return errors.Join(errs...)
}

// ensure adds the rule if it is missing.
func (r rule) ensure() error {
	err := iptables(append([]string{"-w", "-t", r.table, "-C", r.chain}, r.args...))
	// Exit status 1 means that the rule is missing. After other errors it may exist.
	if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || exit.ExitCode() != 1 {
		return err
	}
	verb := "-A"
	if r.prepend {
		verb = "-I"
	}
	return iptables(append([]string{"-w", "-t", r.table, verb, r.chain}, r.args...))
}

// remove removes the rule if it exists.
func (r rule) remove() error {
	if iptables(append([]string{"-w", "-t", r.table, "-C", r.chain}, r.args...)) != nil {
		return nil
	}
	return iptables(append([]string{"-w", "-t", r.table, "-D", r.chain}, r.args...))
}

func iptables(args []string) error {
	out, err := exec.Command("iptables", args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("iptables %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}
