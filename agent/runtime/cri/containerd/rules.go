package containerd

import (
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strings"
)

// RemoveRules removes the rules of address translation that the CNI plugins made
// for pods of the networks that ours says are ours, and that nobody gave back.
// Each pod has a chain, named in a rule whose comment names the network.
func RemoveRules(ours func(network string) bool) error {
	saved, err := exec.Command("iptables-save", "-t", "nat").Output()
	if err != nil { // no such program, no such rules
		return nil
	}
	var errs []error
	chains := map[string]bool{}
	for line := range strings.Lines(string(saved)) {
		_, comment, found := strings.Cut(line, `name: \"`)
		network, _, _ := strings.Cut(comment, `\"`)
		if !found || !strings.HasPrefix(line, "-A ") || !ours(network) {
			continue
		}
		args := ruleArgs(strings.TrimSpace(line))
		errs = append(errs, iptables(append([]string{"-D"}, args[1:]...)))
		for i, a := range args {
			if a == "-j" && i+1 < len(args) && strings.HasPrefix(args[i+1], "CNI-") {
				chains[args[i+1]] = true
			}
		}
	}
	for _, chain := range slices.Sorted(maps.Keys(chains)) {
		if strings.Contains(string(saved), ":"+chain+" ") {
			errs = append(errs, iptables([]string{"-F", chain}), iptables([]string{"-X", chain}))
		}
	}
	return errors.Join(errs...)
}

func iptables(args []string) error {
	out, err := exec.Command("iptables", append([]string{"-w", "-t", "nat"}, args...)...).CombinedOutput()
	if strings.Contains(string(out), "does") { // "does not exist", "doesn't exist": it went with its chain, or meanwhile
		return nil
	}
	if err != nil {
		return fmt.Errorf("iptables %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}

// ruleArgs splits a line of iptables-save at blanks outside of quotes.
func ruleArgs(line string) []string {
	var args []string
	var word strings.Builder
	quoted, escaped, any := false, false, false
	for _, c := range line {
		switch {
		case escaped:
			word.WriteRune(c)
			escaped = false
		case c == '\\':
			escaped = true
		case c == '"':
			quoted, any = !quoted, true
		case c == ' ' && !quoted:
			if any {
				args = append(args, word.String())
			}
			word.Reset()
			any = false
		default:
			word.WriteRune(c)
			any = true
		}
	}
	if any {
		args = append(args, word.String())
	}
	return args
}
