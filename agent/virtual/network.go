package virtual

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"os/exec"
	"slices"
	"strconv"
	"strings"
)

// subnets are what nodes' subnets are taken from: 10.192.0.0/11, a /24 each.
const (
	firstSubnet = 192
	subnets     = 32 * 256
)

// subnet is a /24 that no interface of the machine has an address of. The search
// starts where the place's id says, so that places rarely meet.
func (p *Place) subnet(index int) (string, error) {
	start, err := strconv.ParseUint(p.id, 16, 32)
	if err != nil {
		return "", err
	}
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return "", fmt.Errorf("addresses of this machine: %w", err)
	}
	for i := range subnets {
		n := (int(start%subnets) + index + i*31) % subnets
		prefix := netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(firstSubnet + n/256), byte(n % 256), 0}), 24)
		if !overlaps(prefix, addrs) {
			return prefix.String(), nil
		}
	}
	return "", errors.New("no /24 of 10.192.0.0/11 is free on this machine")
}

func overlaps(prefix netip.Prefix, addrs []net.Addr) bool {
	for _, a := range addrs {
		if other, err := netip.ParsePrefix(a.String()); err == nil && prefix.Overlaps(other.Masked()) {
			return true
		}
	}
	return false
}

// removeBridges removes all bridges of the place.
func (p *Place) removeBridges() error {
	all, err := net.Interfaces()
	if err != nil {
		return err
	}
	var errs []error
	for _, i := range all {
		if strings.HasPrefix(i.Name, p.bridgePrefix()) {
			errs = append(errs, removeBridge(i.Name))
		}
	}
	return errors.Join(errs...)
}

// removeBridge removes a network interface, if it is there.
func removeBridge(name string) error {
	if _, err := net.InterfaceByName(name); err != nil {
		return nil
	}
	out, err := exec.Command("ip", "link", "delete", name).CombinedOutput()
	return wrap(err, "removing bridge %s: %s", name, strings.TrimSpace(string(out)))
}

// removeRules removes the rules of address translation that the CNI plugins made
// for pods of the networks whose names begin with prefix, and that nobody gave
// back. Each pod has a chain, named in a rule whose comment names the network.
func removeRules(prefix string) error {
	saved, err := exec.Command("iptables-save", "-t", "nat").Output()
	if err != nil { // no such program, no such rules
		return nil
	}
	var errs []error
	chains := map[string]bool{}
	for line := range strings.Lines(string(saved)) {
		if !strings.HasPrefix(line, "-A ") || !strings.Contains(line, `name: \"`+prefix) {
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
	return wrap(err, "iptables %s: %s", strings.Join(args, " "), strings.TrimSpace(string(out)))
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
