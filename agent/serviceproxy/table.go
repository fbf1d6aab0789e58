//go:build linux

package serviceproxy

import (
	"net/netip"
	"slices"
)

// claims maps the claims of an element, one for each Service that requests it, to their values. Several Services may
// claim one external IP and port.
type claims map[string]string

// winner returns the value of the element. ok is false if there are no claims. The names of claims start
// with their rank: a cluster IP has precedence over an external IP.
func (c claims) winner() (value string, ok bool) {
	first := ""
	for name := range c {
		if first == "" || name < first {
			first = name
		}
	}
	return c[first], first != ""
}

// table has the desired content of an nftables table, its content in the kernel, and their differences.
type table struct {
	family family
	// fragments has the rules of each Service, by key.
	fragments map[string]*fragment
	chains    map[string][]rule
	elements  map[element]claims
	affinity  map[string]bool
	podCIDRs  []netip.Prefix
	// masqueradePods is set if the kernel does not pass bridged packets to nftables.
	masqueradePods bool

	applied         contents
	changedChains   map[string]bool
	changedElements map[element]bool
	rebuild         bool // the table must be replaced
}

// contents is the content of a table in the kernel.
type contents struct {
	chains   map[string][]rule
	elements map[element]string
	affinity map[string]bool
	podCIDRs []netip.Prefix
}

func newTable(f family) *table {
	t := &table{family: f, fragments: map[string]*fragment{}, chains: map[string][]rule{}, elements: map[element]claims{}, affinity: map[string]bool{}, rebuild: true}
	t.clearChanges()
	return t
}

func (t *table) clearChanges() {
	t.changedChains, t.changedElements = map[string]bool{}, map[element]bool{}
}

// set replaces the fragment of a Service; an empty fragment removes it.
func (t *table) set(service string, f *fragment) {
	old := t.fragments[service]
	if old == nil {
		old = emptyFragment()
	}
	for name, rules := range old.chains {
		if updated, ok := f.chains[name]; !ok || !equalRules(rules, updated) {
			t.changedChains[name] = true
			delete(t.chains, name)
		}
	}
	for name, rules := range f.chains {
		if previous, ok := old.chains[name]; !ok || !equalRules(rules, previous) {
			t.changedChains[name] = true
			t.chains[name] = rules
		}
	}
	for m := range old.affinity {
		delete(t.affinity, m)
	}
	for m := range f.affinity {
		t.affinity[m] = true
	}
	for e := range old.elements {
		t.release(e, claimName(service, old.external[e]))
	}
	for e, value := range f.elements {
		t.claim(e, claimName(service, f.external[e]), value)
	}
	if t.fragments[service] = f; len(f.elements) == 0 {
		delete(t.fragments, service)
	}
}

// claimName returns the name of a Service's claim. Names of cluster IPs precede those of external IPs.
func claimName(service string, external bool) string {
	if external {
		return "1 " + service
	}
	return "0 " + service
}

func (t *table) claim(e element, name, value string) {
	if t.elements[e] == nil {
		t.elements[e] = claims{}
	}
	t.elements[e][name] = value
	t.changedElements[e] = true
}

func (t *table) release(e element, name string) {
	delete(t.elements[e], name)
	if len(t.elements[e]) == 0 {
		delete(t.elements, e)
	}
	t.changedElements[e] = true
}

// setPodCIDRs sets the pod CIDRs of this machine's nodes. It ignores those of the other family.
func (t *table) setPodCIDRs(list []netip.Prefix) {
	var cidrs []netip.Prefix
	for _, p := range list {
		if p.Addr().Is4() == t.family.ip4() {
			cidrs = append(cidrs, p.Masked())
		}
	}
	cidrs = withoutOverlaps(cidrs)
	if (len(cidrs) == 0) != (len(t.podCIDRs) == 0) {
		t.rebuild = true // one of the fixed rules needs pod CIDRs
	}
	t.podCIDRs = cidrs
}

// desiredContents returns the content that the table should have.
func (t *table) desiredContents() contents {
	c := contents{chains: map[string][]rule{}, elements: map[element]string{}, affinity: map[string]bool{}, podCIDRs: t.podCIDRs}
	for name, rules := range t.chains {
		c.chains[name] = rules
	}
	for e, candidates := range t.elements {
		c.elements[e], _ = candidates.winner()
	}
	for m := range t.affinity {
		c.affinity[m] = true
	}
	return c
}

// update is the difference between two contents.
type update struct {
	addedChains, changedChains, removedChains []string
	removedElements, addedElements            map[string][]string // keys by set
	values                                    map[element]string  // of added elements
	addedAffinity, removedAffinity            []string
	podCIDRs                                  bool
}

func (u *update) empty() bool {
	return len(u.addedChains)+len(u.changedChains)+len(u.removedChains)+len(u.removedElements)+len(u.addedElements)+len(u.addedAffinity)+len(u.removedAffinity) == 0 && !u.podCIDRs
}

// changes returns what has changed since the last transaction. The lists of chains and affinity sets are sorted.
func (t *table) changes() update {
	u := update{removedElements: map[string][]string{}, addedElements: map[string][]string{}, values: map[element]string{}}
	for name := range t.changedChains {
		desired, isDesired := t.chains[name]
		applied, isApplied := t.applied.chains[name]
		switch {
		case isDesired && !isApplied:
			u.addedChains = append(u.addedChains, name)
		case !isDesired && isApplied:
			u.removedChains = append(u.removedChains, name)
		case isDesired && !equalRules(desired, applied):
			u.changedChains = append(u.changedChains, name)
		}
	}
	for e := range t.changedElements {
		desired, isDesired := t.elements[e].winner()
		applied, isApplied := t.applied.elements[e]
		if isApplied && (!isDesired || desired != applied) {
			u.removedElements[e.set] = append(u.removedElements[e.set], e.key)
		}
		if isDesired && (!isApplied || desired != applied) {
			u.addedElements[e.set] = append(u.addedElements[e.set], e.key)
			u.values[e] = desired
		}
	}
	for name := range t.changedChains {
		m := "clients-" + name
		switch {
		case t.affinity[m] && !t.applied.affinity[m]:
			u.addedAffinity = append(u.addedAffinity, m)
		case !t.affinity[m] && t.applied.affinity[m]:
			u.removedAffinity = append(u.removedAffinity, m)
		}
	}
	u.podCIDRs = !slices.Equal(t.podCIDRs, t.applied.podCIDRs)
	for _, list := range [][]string{u.addedChains, u.changedChains, u.removedChains, u.addedAffinity, u.removedAffinity} {
		slices.Sort(list)
	}
	return u
}

// recordCommit records that the update is in the kernel.
func (t *table) recordCommit(u update) {
	if t.rebuild {
		t.applied, t.rebuild = t.desiredContents(), false
		t.clearChanges()
		return
	}
	for _, name := range u.removedChains {
		delete(t.applied.chains, name)
	}
	for _, name := range slices.Concat(u.addedChains, u.changedChains) {
		t.applied.chains[name] = t.chains[name]
	}
	for set, keys := range u.removedElements {
		for _, k := range keys {
			delete(t.applied.elements, element{set, k})
		}
	}
	for e, value := range u.values {
		t.applied.elements[e] = value
	}
	for _, m := range u.removedAffinity {
		delete(t.applied.affinity, m)
	}
	for _, m := range u.addedAffinity {
		t.applied.affinity[m] = true
	}
	t.applied.podCIDRs = t.podCIDRs
	t.clearChanges()
}
