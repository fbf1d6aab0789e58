//go:build linux

package serviceproxy

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/nftables"
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// generation returns nftables' transaction counter of this network namespace.
func generation() (uint32, error) {
	replies, err := request(unix.NFT_MSG_GETGEN, 0, unix.AF_UNSPEC, nil)
	if err != nil {
		return 0, fmt.Errorf("reading the generation of nftables: %w", err)
	}
	for _, m := range replies {
		attrs, err := netlink.UnmarshalAttributes(m.Data[4:])
		if err != nil {
			return 0, err
		}
		for _, a := range attrs {
			if a.Type == unix.NFTA_GEN_ID && len(a.Data) == 4 {
				return binary.BigEndian.Uint32(a.Data), nil
			}
		}
	}
	return 0, errors.New("reading the generation of nftables: the reply has no generation ID")
}

// request sends a read request to nftables and returns the replies.
func request(kind, flags int, family uint8, attributes []netlink.Attribute) ([]netlink.Message, error) {
	conn, err := netlink.Dial(unix.NETLINK_NETFILTER, nil)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(transactionTimeout)); err != nil {
		return nil, err
	}
	data, err := netlink.MarshalAttributes(attributes)
	if err != nil {
		return nil, err
	}
	return conn.Execute(netlink.Message{
		Header: netlink.Header{Type: netlink.HeaderType(unix.NFNL_SUBSYS_NFTABLES<<8 | kind), Flags: netlink.Request | netlink.HeaderFlags(flags)},
		Data:   append([]byte{family, unix.NFNETLINK_V0, 0, 0}, data...)})
}

// isModified reports whether another program has changed the tables since the last commit.
func (r *ruleset) isModified() (bool, error) {
	current, err := generation()
	if err != nil || current == r.generation {
		return false, err
	}
	for _, t := range r.tables {
		if t.rebuild {
			continue
		}
		if same, err := t.verify(); err != nil || !same {
			return !same, err
		}
	}
	r.generation = current
	return false, nil
}

// verify reports whether the table in the kernel has the applied content.
func (t *table) verify() (bool, error) {
	rules, err := t.kernelRules()
	if err != nil {
		return false, err
	}
	want := map[string][][]byte{}
	total := 0
	for name, list := range t.applied.chains {
		for _, r := range list {
			want[name] = append(want[name], fingerprint(r.String()))
			total++
		}
	}
	for _, r := range newWriter(&nftables.Conn{}, t).fixedRules() {
		want[r.chain] = append(want[r.chain], fingerprint(r.text))
		total++
	}
	for name, list := range want {
		if !slices.EqualFunc(list, rules[name], bytes.Equal) {
			return false, nil
		}
		total -= len(rules[name])
		delete(rules, name)
	}
	if total != 0 || len(rules) > 0 {
		return false, nil
	}
	return t.verifyElements()
}

// kernelRules returns the user data of all rules of the table, by chain. No table means no rules.
func (t *table) kernelRules() (map[string][][]byte, error) {
	replies, err := request(unix.NFT_MSG_GETRULE, unix.NLM_F_DUMP, uint8(t.family), []netlink.Attribute{{Type: unix.NFTA_RULE_TABLE, Data: []byte(tableName + "\x00")}})
	if err != nil {
		return nil, fmt.Errorf("reading the rules of nftables table %s: %w", tableName, err)
	}
	out := map[string][][]byte{}
	for _, m := range replies {
		attrs, err := netlink.UnmarshalAttributes(m.Data[4:])
		if err != nil {
			return nil, err
		}
		var chain string
		var data []byte
		for _, a := range attrs {
			switch a.Type {
			case unix.NFTA_RULE_CHAIN:
				chain = string(bytes.TrimRight(a.Data, "\x00"))
			case unix.NFTA_RULE_USERDATA:
				data = a.Data
			}
		}
		out[chain] = append(out[chain], data)
	}
	return out, nil
}

// verifyElements reports whether the sets and maps in the kernel have the applied elements.
func (t *table) verifyElements() (bool, error) {
	conn, err := connect()
	if err != nil {
		return false, err
	}
	w := newWriter(conn, t)
	count := 0
	for _, name := range []string{serviceIPMap, nodePortMap, clusterIPSet, hairpinSet, endpointMap, memberSet} {
		elements, err := conn.GetSetElements(w.sets[name])
		if err != nil {
			return false, nil // the set is missing
		}
		for _, e := range elements {
			if value, ok := t.applied.elements[element{name, string(e.Key)}]; !ok || name == endpointMap && value != string(e.Val) {
				return false, nil
			}
		}
		count += len(elements)
	}
	ranges, err := conn.GetSetElements(w.sets[podCIDRSet])
	return count == len(t.applied.elements) && err == nil && (len(ranges) > 0) == (len(t.applied.podCIDRs) > 0), nil
}
