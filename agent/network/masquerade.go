package network

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"

	"github.com/google/nftables"
	"github.com/google/nftables/binaryutil"
	"github.com/google/nftables/expr"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// podGroup is the device group of bridges with pods. Packets between nodes of one machine leave through
// such a bridge and keep their source address.
const podGroup = 0x6265

// tablePrefix is the prefix of the names of nftables tables. The bridge's name follows.
const tablePrefix = "berth-pods-"

// sourceAddressOffset is the offset in bytes of the source address in an IPv4 header.
const sourceAddressOffset = 12

// Masquerade replaces the source address of packets from pods in prefix to other machines with this
// machine's address. The bridge may be managed by another program. RemoveRules removes the rule.
func Masquerade(bridge string, prefix netip.Prefix) error {
	c, err := nftables.New()
	if err != nil {
		return fmt.Errorf("masquerading %s: %w", prefix, err)
	}
	t := &nftables.Table{Family: nftables.TableFamilyIPv4, Name: tablePrefix + bridge}
	c.AddTable(t) // DelTable fails if the table does not exist
	c.DelTable(t)
	c.AddTable(t)
	chain := c.AddChain(&nftables.Chain{Name: "postrouting", Table: t, Type: nftables.ChainTypeNAT, Hooknum: nftables.ChainHookPostrouting, Priority: nftables.ChainPriorityNATSource})
	address := prefix.Masked().Addr().AsSlice()
	c.AddRule(&nftables.Rule{Table: t, Chain: chain, Exprs: []expr.Any{
		&expr.Payload{DestRegister: 1, Base: expr.PayloadBaseNetworkHeader, Offset: sourceAddressOffset, Len: uint32(len(address))},
		&expr.Bitwise{SourceRegister: 1, DestRegister: 1, Len: uint32(len(address)), Mask: net.CIDRMask(prefix.Bits(), 8*len(address)), Xor: make([]byte, len(address))},
		&expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: address},
		&expr.Meta{Key: expr.MetaKeyOIFNAME, Register: 1},
		&expr.Cmp{Op: expr.CmpOpNeq, Register: 1, Data: deviceName(bridge)},
		&expr.Meta{Key: expr.MetaKeyOIFGROUP, Register: 1},
		&expr.Cmp{Op: expr.CmpOpNeq, Register: 1, Data: binaryutil.NativeEndian.PutUint32(podGroup)},
		&expr.Masq{},
	}})
	if err := c.Flush(); err != nil {
		return fmt.Errorf("masquerading %s with nftables: %w", prefix, err)
	}
	return nil
}

// deviceName returns a device name as nftables compares it.
func deviceName(name string) []byte {
	b := make([]byte, unix.IFNAMSIZ)
	copy(b, name)
	return b
}

// removeTables removes the nftables tables of the networks that match selects.
func removeTables(match func(network, id string) bool) error {
	c, err := nftables.New()
	if err != nil {
		return fmt.Errorf("removing nftables tables: %w", err)
	}
	tables, err := c.ListTablesOfFamily(nftables.TableFamilyIPv4)
	if err != nil {
		if !hasNetfilter() || errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.EPROTONOSUPPORT) || errors.Is(err, unix.EINVAL) || errors.Is(err, unix.EPERM) {
			return nil // the kernel has no nftables, or this process created no table
		}
		return fmt.Errorf("removing nftables tables: %w", err)
	}
	var errs []error
	for _, t := range tables {
		if bridge, ok := strings.CutPrefix(t.Name, tablePrefix); ok && match(bridge, "") {
			c.DelTable(t)
			if err := c.Flush(); err != nil && !errors.Is(err, unix.ENOENT) { // removed concurrently
				errs = append(errs, fmt.Errorf("removing nftables table %s: %w", t.Name, err))
			}
		}
	}
	return errors.Join(errs...)
}

// joinPodGroup adds a bridge to the group of bridges with pods.
func joinPodGroup(link netlink.Link) error {
	if link.Attrs().Group == podGroup {
		return nil
	}
	return netlink.LinkSetGroup(link, podGroup)
}
