//go:build linux

package serviceproxy

import (
	"fmt"
	"net/netip"
	"os"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
)

// ruleset is the tables of both IP families. It is not safe for concurrent use.
type ruleset struct {
	tables []*table
	loc    location
	// generation is nftables' transaction counter after the last commit.
	generation uint32
}

// newRuleset returns a ruleset whose first commit replaces existing tables. masqueradePods is set
// if the kernel does not pass bridged packets to the tables.
func newRuleset(masqueradePods bool) *ruleset {
	r := &ruleset{tables: []*table{newTable(ipv4)}}
	if _, err := os.Stat("/proc/thread-self/net/if_inet6"); err == nil {
		r.tables = append(r.tables, newTable(ipv6))
	}
	for _, t := range r.tables {
		t.masqueradePods = masqueradePods
	}
	return r
}

// set replaces the rules of a Service. A nil service removes them.
func (r *ruleset) set(key string, service *corev1.Service, slices []*discoveryv1.EndpointSlice) {
	for _, t := range r.tables {
		f := emptyFragment()
		if service != nil {
			f = newFragment(service, slices, t.family.discovery(), r.loc)
		}
		t.set(key, f)
	}
}

// discovery returns the address type of the family's EndpointSlices.
func (f family) discovery() discoveryv1.AddressType {
	if f.ip4() {
		return discoveryv1.AddressTypeIPv4
	}
	return discoveryv1.AddressTypeIPv6
}

func (r *ruleset) setPodCIDRs(list []netip.Prefix) {
	for _, t := range r.tables {
		t.setPodCIDRs(list)
	}
}

// replaceTables makes the next commit replace the tables.
func (r *ruleset) replaceTables() {
	for _, t := range r.tables {
		t.rebuild = true
	}
}

// commit writes all changes in one transaction. If the transaction fails, the next commit replaces the
// tables.
func (r *ruleset) commit() error {
	conn, err := connect()
	if err != nil {
		return fmt.Errorf("connecting to nftables: %w", err)
	}
	updates := make([]update, len(r.tables))
	changed := false
	for i, t := range r.tables {
		if updates[i], err = newWriter(conn, t).write(); err != nil {
			return fmt.Errorf("writing nftables table %s: %w", tableName, err)
		}
		changed = changed || t.rebuild || !updates[i].empty()
	}
	if !changed {
		for _, t := range r.tables {
			t.clearChanges()
		}
		return nil
	}
	before, err := generation()
	if err != nil {
		return err
	}
	if err := conn.Flush(); err != nil {
		r.replaceTables()
		return fmt.Errorf("writing nftables table %s: %w", tableName, err)
	}
	for i, t := range r.tables {
		t.recordCommit(updates[i])
	}
	// After a transaction of another program r.generation keeps its value, so that isModified verifies the
	// tables.
	if r.generation == before || r.generation == 0 {
		r.generation = before + 1
	}
	return nil
}
