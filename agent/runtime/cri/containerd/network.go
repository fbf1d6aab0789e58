package containerd

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// cniResults is where CNI plugins note what they have done, whatever they are told.
const cniResults = "/var/lib/cni/results"

// removeNetwork removes what the network of pods leaves when nobody tells the plugins that they
// are gone: rules of the firewall, the bridge, notes of the plugins.
func removeNetwork(bridge string) error {
	if bridge == "" {
		return nil
	}
	errs := []error{removeRules(bridge)}
	if _, err := os.Stat("/sys/class/net/" + bridge); err == nil {
		if out, err := exec.Command("ip", "link", "delete", bridge).CombinedOutput(); err != nil {
			errs = append(errs, fmt.Errorf("network device %s: %w: %s", bridge, err, out))
		}
	}
	notes, err := filepath.Glob(filepath.Join(cniResults, bridge+"-*-eth0"))
	errs = append(errs, err)
	for _, note := range notes {
		id := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(note), bridge+"-"), "-eth0")
		for _, path := range []string{note, filepath.Join(cniResults, "cni-loopback-"+id+"-lo")} {
			if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
				errs = append(errs, err)
			}
		}
	}
	return errors.Join(errs...)
}

// removeRules removes the rules for pods of that network. Plugins name the network in a comment.
func removeRules(bridge string) error {
	rules, err := exec.Command("iptables-save", "-t", "nat").Output()
	if err != nil {
		return nil // there is no firewall: there are no rules of it
	}
	undo := undoing(string(rules), bridge)
	if undo == "" {
		return nil
	}
	cmd := exec.Command("iptables-restore", "--noflush", "-w", "10")
	cmd.Stdin = strings.NewReader(undo)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("firewall rules of %s: %w: %s", bridge, err, out)
	}
	return nil
}

// undoing is what iptables-restore is told to remove the rules of a network, "" if there are none:
// rules that lead to the chains of its pods, and these chains.
func undoing(rules, bridge string) string {
	var undo, flush, remove strings.Builder
	seen := map[string]bool{}
	for line := range strings.Lines(rules) {
		line = strings.TrimSpace(line)
		rule, isRule := strings.CutPrefix(line, "-A ")
		if !isRule || !strings.Contains(line, `name: \"`+bridge+`\"`) {
			continue
		}
		chain, _, _ := strings.Cut(rule, " ")
		_, target, jumps := strings.Cut(rule, " -j ")
		target, _, _ = strings.Cut(target, " ")
		if !jumps || !strings.HasPrefix(target, "CNI-") || !shared(chain) {
			continue // it goes with its chain
		}
		fmt.Fprintf(&undo, "-D %s\n", rule)
		if !seen[target] && !shared(target) {
			seen[target] = true
			fmt.Fprintf(&flush, "-F %s\n", target)
			fmt.Fprintf(&remove, "-X %s\n", target)
		}
	}
	if undo.Len() == 0 {
		return ""
	}
	return "*nat\n" + undo.String() + flush.String() + remove.String() + "COMMIT\n"
}

// shared says whether a chain is of all networks, not of one pod.
func shared(chain string) bool {
	return !strings.HasPrefix(chain, "CNI-") || strings.HasPrefix(chain, "CNI-HOSTPORT")
}
