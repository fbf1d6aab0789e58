package network

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// maxRemoveAttempts bounds the attempts to remove rules while other programs change rules.
const maxRemoveAttempts = 5

// RemoveRules removes the firewall rules of the networks that match selects, and their per-pod
// chains. It also removes those that CNI plugins created. id is the sandbox ID, or "" for rules
// of a whole network.
func RemoveRules(ctx context.Context, match func(network, id string) bool) error {
	errs := []error{removeTables(match)}
	for _, table := range []string{"nat", "filter"} {
		_, err := removeRules(ctx, table, match)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// removeRules removes the rules of one table and returns the input given to iptables-restore.
func removeRules(ctx context.Context, table string, match func(network, id string) bool) (input string, err error) {
	for range maxRemoveAttempts {
		saved, cmdErr := exec.CommandContext(ctx, "iptables-save", "-t", table).Output()
		if errors.Is(cmdErr, exec.ErrNotFound) || cmdErr != nil && !hasNetfilter() {
			return "", nil // no netfilter, no rules
		}
		if cmdErr != nil {
			err = fmt.Errorf("removing iptables rules of table %s: iptables-save: %w%s", table, cmdErr, stderrOf(cmdErr))
			continue
		}
		input = removalInput(table, string(saved), match)
		if input == "" {
			return "", nil
		}
		cmd := exec.CommandContext(ctx, "iptables-restore", "--noflush", "-w", "10")
		cmd.Stdin = strings.NewReader(input)
		var out []byte
		out, cmdErr = cmd.CombinedOutput() // atomic: fails if a rule was removed concurrently
		if cmdErr == nil {
			return input, nil
		}
		err = fmt.Errorf("removing iptables rules of table %s: iptables-restore: %w: %s", table, cmdErr, strings.TrimSpace(string(out)))
	}
	return "", err
}

func hasNetfilter() bool {
	_, err := os.Stat("/proc/thread-self/net/netfilter")
	return !errors.Is(err, os.ErrNotExist)
}

// stderrOf returns ": " and what a failed program wrote to standard error, or "" if it wrote nothing.
func stderrOf(err error) string {
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && len(exit.Stderr) > 0 {
		return ": " + strings.TrimSpace(string(exit.Stderr))
	}
	return ""
}

// removalInput returns the input of iptables-restore that removes the rules and the per-pod
// chains of CNI plugins, or "" if there are none.
func removalInput(table, rules string, match func(network, id string) bool) string {
	var deletions, flushes, chainDeletions strings.Builder
	seen := map[string]bool{}
	for line := range strings.Lines(rules) {
		line = strings.TrimSpace(line)
		rule, isRule := strings.CutPrefix(line, "-A ")
		network, id := ruleOwner(line)
		if !isRule || network == "" || !match(network, id) {
			continue
		}
		chain, _, _ := strings.Cut(rule, " ")
		if !isSharedChain(chain) {
			continue // removed with its chain
		}
		_, target, _ := strings.Cut(rule, " -j ")
		target, _, _ = strings.Cut(target, " ")
		fmt.Fprintf(&deletions, "-D %s\n", rule)
		if !seen[target] && !isSharedChain(target) {
			seen[target] = true
			fmt.Fprintf(&flushes, "-F %s\n", target)
			fmt.Fprintf(&chainDeletions, "-X %s\n", target)
		}
	}
	if deletions.Len() == 0 {
		return ""
	}
	return "*" + table + "\n" + deletions.String() + flushes.String() + chainDeletions.String() + "COMMIT\n"
}

// ruleOwner returns the network and the sandbox ID in the comment of a rule; each may be "".
func ruleOwner(line string) (network, id string) {
	_, rest, _ := strings.Cut(line, `name: \"`)
	network, rest, _ = strings.Cut(rest, `\"`)
	_, rest, _ = strings.Cut(rest, `id: \"`)
	id, _, _ = strings.Cut(rest, `\"`)
	return network, id
}

// isSharedChain reports whether a chain is not specific to one pod.
func isSharedChain(chain string) bool {
	return !strings.HasPrefix(chain, "CNI-") || strings.HasPrefix(chain, "CNI-HOSTPORT")
}
