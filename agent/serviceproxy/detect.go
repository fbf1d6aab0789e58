//go:build linux

package serviceproxy

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/google/nftables"
	"golang.org/x/sys/unix"
)

// Check returns an error if this machine cannot run the proxy.
func Check() error {
	if _, err := generation(); err != nil {
		if errors.Is(err, unix.EPERM) {
			return fmt.Errorf("nftables requires the capability NET_ADMIN: %w", err)
		}
		return fmt.Errorf("the kernel has no nftables (CONFIG_NF_TABLES): %w", err)
	}
	// A transaction that creates and deletes a table shows whether NAT and maps are supported.
	conn, err := connect()
	if err != nil {
		return err
	}
	w := newWriter(conn, newTable(ipv4))
	w.table.Name = "berth-proxy-check"
	w.source.podCIDRs = nil
	w.replace()
	w.conn.DelTable(w.table)
	if err := errors.Join(w.errs...); err != nil {
		return err
	}
	if err := conn.Flush(); err != nil {
		return fmt.Errorf("nftables refuses NAT rules (the kernel needs nft_nat, nft_masq, nft_reject, nft_fib and nft_numgen): %w", err)
	}
	return nil
}

// DetectOtherProxy describes the nftables table or iptables chain of another service proxy on this
// machine. It returns "" if there is none.
func DetectOtherProxy() string {
	conn, err := connect()
	if err != nil {
		return ""
	}
	tables, err := conn.ListTables()
	if err != nil {
		return ""
	}
	for _, t := range tables {
		if t.Name == "kube-proxy" {
			return "nftables table kube-proxy"
		}
	}
	chains, err := conn.ListChainsOfTableFamily(nftables.TableFamilyIPv4)
	if err != nil {
		return ""
	}
	for _, c := range chains {
		if c.Name == "KUBE-SERVICES" {
			return "iptables chain KUBE-SERVICES"
		}
	}
	return ""
}

// prepareKernel enables forwarding and passes bridged packets to the tables: the reply of a pod to
// another pod of its bridge must be translated back. It reports whether bridged packets pass the
// tables.
func prepareKernel() (bridged bool) {
	for _, file := range []string{"ipv4/ip_forward", "ipv6/conf/all/forwarding"} {
		writeSysctl(file)
	}
	const bridge = "bridge/bridge-nf-call-iptables"
	if _, err := os.Stat("/proc/sys/net/" + bridge); err != nil {
		_ = exec.Command("modprobe", "br_netfilter").Run()
	}
	writeSysctl("bridge/bridge-nf-call-ip6tables")
	return writeSysctl(bridge)
}

// writeSysctl sets a network sysctl to 1 and reports whether it is 1.
func writeSysctl(name string) bool {
	file := "/proc/sys/net/" + name
	if text, err := os.ReadFile(file); err == nil && strings.TrimSpace(string(text)) == "1" {
		return true
	}
	return os.WriteFile(file, []byte("1"), 0o644) == nil
}
