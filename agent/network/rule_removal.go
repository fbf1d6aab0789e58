package network

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// maxRemoveAttempts is how often rules are removed that others change meanwhile.
const maxRemoveAttempts = 5

// RemoveRules removes the rules of the firewall that were made for pods of the networks that ours says are ours, by this package
// or by CNI's plugins, and the chains of such pods. id is the sandbox's, "" in rules of a whole network.
func RemoveRules(ctx context.Context, ours func(network, id string) bool) error {
	for _, table := range []string{"nat", "filter"} {
		if _, err := removeRules(ctx, table, ours); err != nil {
			return err
		}
	}
	return nil
}

// removeRules answers with what iptables-restore was told.
func removeRules(ctx context.Context, table string, ours func(network, id string) bool) (undo string, err error) {
	for range maxRemoveAttempts {
		saved, failed := exec.CommandContext(ctx, "iptables-save", "-t", table).Output()
		if errors.Is(failed, exec.ErrNotFound) || failed != nil && !hasNetfilter() {
			return "", nil // there is no firewall: there are no rules of it
		}
		if failed != nil {
			err = fmt.Errorf("rules of the firewall, table %s: iptables-save: %w%s", table, failed, stderrOf(failed))
			continue
		}
		undo = removalInput(table, string(saved), ours)
		if undo == "" {
			return "", nil
		}
		cmd := exec.CommandContext(ctx, "iptables-restore", "--noflush", "-w", "10")
		cmd.Stdin = strings.NewReader(undo)
		var out []byte
		out, failed = cmd.CombinedOutput() // all of it or nothing: a rule that has just gone fails all
		if failed == nil {
			return undo, nil
		}
		err = fmt.Errorf("rules of the firewall, table %s: %w: %s", table, failed, strings.TrimSpace(string(out)))
	}
	return "", err
}

// hasNetfilter says whether the kernel has a firewall at all.
func hasNetfilter() bool {
	_, err := os.Stat("/proc/thread-self/net/netfilter")
	return !errors.Is(err, os.ErrNotExist)
}

// stderrOf is what a program that failed wrote.
func stderrOf(err error) string {
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && len(exit.Stderr) > 0 {
		return ": " + strings.TrimSpace(string(exit.Stderr))
	}
	return ""
}

// removalInput is what iptables-restore is told to remove rules, "" if there are none:
// the rules, and the chains of CNI's plugins for single pods that they lead to.
func removalInput(table, rules string, ours func(network, id string) bool) string {
	var undo, flush, remove strings.Builder
	seen := map[string]bool{}
	for line := range strings.Lines(rules) {
		line = strings.TrimSpace(line)
		rule, isRule := strings.CutPrefix(line, "-A ")
		network, id := ruleOwner(line)
		if !isRule || network == "" || !ours(network, id) {
			continue
		}
		chain, _, _ := strings.Cut(rule, " ")
		if !isSharedChain(chain) {
			continue // it goes with its chain
		}
		_, target, _ := strings.Cut(rule, " -j ")
		target, _, _ = strings.Cut(target, " ")
		fmt.Fprintf(&undo, "-D %s\n", rule)
		if !seen[target] && !isSharedChain(target) {
			seen[target] = true
			fmt.Fprintf(&flush, "-F %s\n", target)
			fmt.Fprintf(&remove, "-X %s\n", target)
		}
	}
	if undo.Len() == 0 {
		return ""
	}
	return "*" + table + "\n" + undo.String() + flush.String() + remove.String() + "COMMIT\n"
}

// ruleOwner reads whose a rule is from its comment.
func ruleOwner(line string) (network, id string) {
	_, rest, _ := strings.Cut(line, `name: \"`)
	network, rest, _ = strings.Cut(rest, `\"`)
	_, rest, _ = strings.Cut(rest, `id: \"`)
	id, _, _ = strings.Cut(rest, `\"`)
	return network, id
}

// isSharedChain says whether a chain is of all networks, not of one pod.
func isSharedChain(chain string) bool {
	return !strings.HasPrefix(chain, "CNI-") || strings.HasPrefix(chain, "CNI-HOSTPORT")
}
