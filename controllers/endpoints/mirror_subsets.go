package endpoints

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// addressKey identifies an address, as upstream does: several pods may have the same IP.
type addressKey struct {
	ip  string
	uid types.UID
}

// portTargets are the addresses behind a port, and whether each is ready.
type portTargets struct {
	ports []corev1.EndpointPort // at most one
	ready map[addressKey]bool
}

// repackSubsets regroups subsets so that each port is in only one subset, together with all ports of the same
// addresses. An address that is not ready in one of several subsets with a port is not ready for it.
func repackSubsets(subsets []corev1.EndpointSubset) (out []*corev1.EndpointSubset) {
	byPort, addresses := targetsByPort(subsets)
	subsetsByTargets := map[string]*corev1.EndpointSubset{}
	for _, port := range slices.Sorted(maps.Keys(byPort)) {
		group := byPort[port]
		targets := slices.SortedFunc(maps.Keys(group.ready), func(a, b addressKey) int {
			return cmp.Or(strings.Compare(a.ip, b.ip), strings.Compare(string(a.uid), string(b.uid)))
		})
		var key strings.Builder
		for _, t := range targets {
			fmt.Fprint(&key, t, group.ready[t])
		}
		targetsKey := key.String()
		subset := subsetsByTargets[targetsKey]
		if subset == nil {
			subset = &corev1.EndpointSubset{}
			for _, t := range targets {
				if group.ready[t] {
					subset.Addresses = append(subset.Addresses, addresses[t])
				} else {
					subset.NotReadyAddresses = append(subset.NotReadyAddresses, addresses[t])
				}
			}
			subsetsByTargets[targetsKey] = subset
			out = append(out, subset)
		}
		subset.Ports = append(subset.Ports, group.ports...)
	}
	for _, s := range out {
		slices.SortFunc(s.Ports, comparePorts)
	}
	return out
}

// targetsByPort groups addresses by port; "" stands for no port. The first of several equal addresses is used.
func targetsByPort(subsets []corev1.EndpointSubset) (map[string]*portTargets, map[addressKey]corev1.EndpointAddress) {
	byPort, addresses := map[string]*portTargets{}, map[addressKey]corev1.EndpointAddress{}
	for i := range subsets {
		portSets := [][]corev1.EndpointPort{nil}
		if len(subsets[i].Ports) > 0 {
			portSets = slices.Collect(slices.Chunk(subsets[i].Ports, 1))
		}
		for _, ports := range portSets {
			key := portsKey(ports)
			if byPort[key] == nil {
				byPort[key] = &portTargets{ports: ports, ready: map[addressKey]bool{}}
			}
			ready := byPort[key].ready
			add := func(a corev1.EndpointAddress, isReady bool) {
				t := addressKey{ip: a.IP}
				if a.TargetRef != nil {
					t.uid = a.TargetRef.UID
				}
				if _, exists := addresses[t]; !exists {
					addresses[t] = a
				}
				wasReady, exists := ready[t]
				ready[t] = isReady && (wasReady || !exists)
			}
			for _, a := range subsets[i].Addresses {
				add(a, true)
			}
			for _, a := range subsets[i].NotReadyAddresses {
				add(a, false)
			}
		}
	}
	return byPort, addresses
}
