//go:build linux

package serviceproxy

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// action is what a rule does.
type action int

const (
	actMasquerade   action = iota // mark the connection, so that it gets the machine's address
	actGoto                       // continue in chain
	actGotoFromPods               // continue in chain if a pod of this machine sent the packet
	actFromMachine                // mark if this machine sent the packet, and continue in chain
	actGotoFrom                   // continue in chain if the source is in prefixes
	actDrop
	actDistribute // choose an endpoint at random
	actReuse      // use the endpoint that the affinity map has for the client
	actRemember   // choose an endpoint at random and add it to the affinity map
)

// rule is a rule in a chain of a Service. Rules with equal texts are equal.
type rule struct {
	action   action
	chain    string // to continue in, or whose endpoints are used
	prefixes []netip.Prefix
	count    int    // number of endpoints
	affinity string // name of the map
	timeout  time.Duration
}

// String returns the rule in the style of nft.
func (r rule) String() string {
	switch r.action {
	case actMasquerade:
		return "mark for masquerade"
	case actGoto:
		return "goto " + r.chain
	case actGotoFromPods:
		return "saddr @" + podCIDRSet + " goto " + r.chain
	case actFromMachine:
		return "saddr type local, mark for masquerade, goto " + r.chain
	case actGotoFrom:
		return "saddr { " + join(r.prefixes) + " } goto " + r.chain
	case actDrop:
		return "drop"
	case actReuse:
		return fmt.Sprintf("dnat to saddr map @%s if an endpoint of %s, timeout %v", r.affinity, r.chain, r.timeout)
	case actRemember:
		return fmt.Sprintf("update @%s, dnat to one of %d endpoints of %s, timeout %v", r.affinity, r.count, r.chain, r.timeout)
	}
	return fmt.Sprintf("dnat to one of %d endpoints of %s", r.count, r.chain)
}

func join[T fmt.Stringer](list []T) string {
	words := make([]string, len(list))
	for i, v := range list {
		words[i] = v.String()
	}
	return strings.Join(words, ", ")
}

func equalRules(a, b []rule) bool {
	return slices.EqualFunc(a, b, func(a, b rule) bool { return a.action == b.action && a.String() == b.String() })
}

// Names in both tables.
const (
	tableName = "berth-proxy"

	serviceIPMap    = "service-ips"   // IP, protocol, port to chain
	nodePortMap     = "node-ports"    // protocol, port to chain
	clusterIPSet    = "cluster-ips"   // all cluster IPs
	endpointMap     = "endpoints"     // chain, number to endpoint
	memberSet       = "members"       // chain, endpoint: of Services with session affinity
	hairpinSet      = "hairpin"       // endpoint, endpoint: connections of an endpoint to itself
	podCIDRSet      = "local-pods"    // pod CIDRs of the nodes of this machine
	rejectChain     = "reject"        // a Service without endpoints
	dropChain       = "drop"          // the policy Local without local endpoints
	servicesChain   = "services"      // looks up the Service of a packet
	masqueradeChain = "masquerade"    // postrouting
	preroutingChain = "to-services"   // prerouting
	outputChain     = "host-services" // output
)
