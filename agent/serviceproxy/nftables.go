//go:build linux

package serviceproxy

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"net/netip"
	"os"
	"slices"
	"time"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

const (
	// socketBuffer is the size in bytes of each netlink socket buffer. It holds a whole transaction
	// of 10,000 Services and its acknowledgements.
	socketBuffer = 256 << 20
	// transactionTimeout bounds the wait for the kernel's reply.
	transactionTimeout = 30 * time.Second
	// maxAffinityClients bounds the number of clients in the affinity map of a chain, and so its memory.
	maxAffinityClients = 16384
)

// family is an IP family with its layout in nftables.
type family nftables.TableFamily

const (
	ipv4 = family(nftables.TableFamilyIPv4)
	ipv6 = family(nftables.TableFamilyIPv6)
)

func (f family) ip4() bool { return f == ipv4 }

func (f family) addressType() nftables.SetDatatype {
	if f.ip4() {
		return nftables.TypeIPAddr
	}
	return nftables.TypeIP6Addr
}

// endpointType returns the type of an address and a port in maps.
func (f family) endpointType() nftables.SetDatatype {
	return nftables.MustConcatSetType(f.addressType(), nftables.TypeInetService)
}

// chainKeyType is the type of a chain's identifier and a number in keys. Only its length matters.
var chainKeyType = nftables.MustConcatSetType(nftables.TypeInteger, nftables.TypeInteger, nftables.TypeInteger, nftables.TypeInteger)

// memberType returns the type of a chain's identifier, an address and a port.
func (f family) memberType() nftables.SetDatatype {
	return nftables.MustConcatSetType(nftables.TypeInteger, nftables.TypeInteger, nftables.TypeInteger, f.addressType(), nftables.TypeInetService)
}

// connect opens a connection to nftables whose operations time out.
func connect() (*nftables.Conn, error) {
	return nftables.New(nftables.WithSockOptions(
		func(c *netlink.Conn) error { return c.SetWriteBuffer(socketBuffer) },
		func(c *netlink.Conn) error { return c.SetReadBuffer(socketBuffer) },
		func(c *netlink.Conn) error { return c.SetDeadline(time.Now().Add(transactionTimeout)) }))
}

// writer adds the operations of one table to a transaction.
type writer struct {
	conn   *nftables.Conn
	table  *nftables.Table
	source *table
	sets   map[string]*nftables.Set
	errs   []error
}

func newWriter(conn *nftables.Conn, t *table) *writer {
	w := &writer{conn: conn, source: t, table: &nftables.Table{Name: tableName, Family: nftables.TableFamily(t.family)}, sets: map[string]*nftables.Set{}}
	address, protocol, port := t.family.addressType(), nftables.TypeInetProto, nftables.TypeInetService
	for _, s := range []*nftables.Set{
		{Name: serviceIPMap, IsMap: true, KeyType: nftables.MustConcatSetType(address, protocol, port), DataType: nftables.TypeVerdict},
		{Name: nodePortMap, IsMap: true, KeyType: nftables.MustConcatSetType(protocol, port), DataType: nftables.TypeVerdict},
		{Name: clusterIPSet, KeyType: address},
		{Name: endpointMap, IsMap: true, KeyType: chainKeyType, DataType: t.family.endpointType()},
		{Name: memberSet, KeyType: t.family.memberType()},
		{Name: hairpinSet, KeyType: nftables.MustConcatSetType(address, address)},
		{Name: podCIDRSet, KeyType: address, Interval: true},
	} {
		s.Table = w.table
		w.sets[s.Name] = s
	}
	return w
}

func (w *writer) recordError(err error) {
	if err != nil {
		w.errs = append(w.errs, err)
	}
}

// write adds all differences to the transaction, or the whole table if it must be replaced.
func (w *writer) write() (update, error) {
	if w.source.rebuild {
		w.replace()
		return update{}, errors.Join(w.errs...)
	}
	u := w.source.changes()
	if u.empty() {
		return u, nil
	}
	w.apply(u)
	return u, errors.Join(w.errs...)
}

// replace adds the removal of an existing table and the whole new table to the transaction.
func (w *writer) replace() {
	w.conn.AddTable(w.table)
	w.conn.DelTable(w.table)
	w.conn.AddTable(w.table)
	for _, name := range slices.Sorted(maps.Keys(w.sets)) {
		w.recordError(w.conn.AddSet(w.sets[name], nil))
	}
	c := w.source.desiredContents()
	for m := range c.affinity {
		w.addAffinity(m)
	}
	w.addFixedChains()
	names := slices.Sorted(maps.Keys(c.chains))
	for _, name := range names {
		w.conn.AddChain(w.chain(name))
	}
	for _, name := range names {
		w.addRules(name, c.chains[name])
	}
	keys := map[string][]string{}
	for e := range c.elements {
		keys[e.set] = append(keys[e.set], e.key)
	}
	w.addElements(keys, c.elements)
	w.addPodCIDRs()
}

// apply adds an update. Elements are removed before the chains that they lead to.
func (w *writer) apply(u update) {
	for _, m := range u.addedAffinity {
		w.addAffinity(m)
	}
	for _, name := range u.addedChains {
		w.conn.AddChain(w.chain(name))
	}
	for set, keys := range u.removedElements {
		w.eachBatch(set, keys, nil, w.conn.SetDeleteElements)
	}
	for _, name := range slices.Concat(u.changedChains, u.removedChains) {
		w.conn.FlushChain(w.chain(name))
	}
	for _, name := range slices.Concat(u.addedChains, u.changedChains) {
		w.addRules(name, w.source.chains[name])
	}
	w.addElements(u.addedElements, u.values)
	for _, name := range u.removedChains {
		w.conn.DelChain(w.chain(name))
	}
	for _, m := range u.removedAffinity {
		w.conn.DelSet(&nftables.Set{Table: w.table, Name: m})
	}
	if u.podCIDRs {
		w.conn.FlushSet(w.sets[podCIDRSet])
		w.addPodCIDRs()
	}
}

func (w *writer) chain(name string) *nftables.Chain {
	return &nftables.Chain{Table: w.table, Name: name}
}

func (w *writer) addAffinity(name string) {
	w.recordError(w.conn.AddSet(&nftables.Set{Table: w.table, Name: name, IsMap: true, HasTimeout: true, Dynamic: true, Size: maxAffinityClients,
		KeyType: w.source.family.addressType(), DataType: w.source.family.endpointType()}, nil))
}

func (w *writer) addElements(keys map[string][]string, values map[element]string) {
	for _, set := range slices.Sorted(maps.Keys(keys)) {
		w.eachBatch(set, keys[set], values, w.conn.SetAddElements)
	}
}

// batchElements is the maximum number of elements per message: the length field of a netlink attribute
// has 16 bits.
const batchElements = 100

// eachBatch calls apply for the elements of a set, in batches. It sorts keys.
func (w *writer) eachBatch(set string, keys []string, values map[element]string, apply func(*nftables.Set, []nftables.SetElement) error) {
	slices.Sort(keys)
	for batch := range slices.Chunk(keys, batchElements) {
		var elements []nftables.SetElement
		for _, k := range batch {
			v := nftables.SetElement{Key: []byte(k)}
			value := values[element{set, k}]
			switch {
			case set == endpointMap:
				v.Val = []byte(value)
			case value != "":
				v.VerdictData = &expr.Verdict{Kind: expr.VerdictGoto, Chain: value}
			}
			elements = append(elements, v)
		}
		w.recordError(apply(w.sets[set], elements))
	}
}

func (w *writer) addPodCIDRs() {
	if len(w.source.podCIDRs) > 0 {
		w.recordError(w.conn.SetAddElements(w.sets[podCIDRSet], intervals(w.source.podCIDRs)))
	}
}

// intervals returns the elements of the prefixes in an interval set: the first address of each prefix,
// and the first address after the prefix.
func intervals(list []netip.Prefix) (out []nftables.SetElement) {
	for _, p := range list {
		out = append(out, nftables.SetElement{Key: p.Addr().AsSlice()})
		if end := lastAddress(p).Next(); end.IsValid() {
			out = append(out, nftables.SetElement{Key: end.AsSlice(), IntervalEnd: true})
		}
	}
	return out
}

func lastAddress(p netip.Prefix) netip.Addr {
	b := p.Masked().Addr().AsSlice()
	for i := p.Bits(); i < len(b)*8; i++ {
		b[i/8] |= 0x80 >> (i % 8)
	}
	a, _ := netip.AddrFromSlice(b)
	return a
}

// addRules adds the rules of a chain. Each rule carries a hash of its text, which verify uses to
// detect changes.
func (w *writer) addRules(name string, rules []rule) {
	for _, r := range rules {
		w.addRule(w.chain(name), r.String(), w.expressions(r))
	}
}

func (w *writer) addRule(c *nftables.Chain, text string, exprs []expr.Any) {
	w.conn.AddRule(&nftables.Rule{Table: w.table, Chain: c, Exprs: exprs, UserData: fingerprint(text)})
}

// fingerprint returns a hash of a rule's text.
func fingerprint(text string) []byte {
	h := fnv.New64a()
	_, _ = h.Write([]byte(text))
	return binary.BigEndian.AppendUint64(nil, h.Sum64())
}

// anonymousSet adds a set or map that belongs to one rule.
func (w *writer) anonymousSet(s *nftables.Set, vals []nftables.SetElement) *nftables.Set {
	s.Table, s.Anonymous, s.Constant = w.table, true, true
	w.recordError(w.conn.AddSet(s, vals))
	return s
}

// Remove removes both tables. It is idempotent.
func Remove() error {
	for _, f := range []family{ipv4, ipv6} {
		conn, err := connect()
		if err != nil {
			return fmt.Errorf("removing the nftables table %s: %w", tableName, err)
		}
		t := &nftables.Table{Name: tableName, Family: nftables.TableFamily(f)}
		conn.AddTable(t) // DelTable fails if the table does not exist
		conn.DelTable(t)
		if err := conn.Flush(); err != nil && !errors.Is(err, unix.EOPNOTSUPP) && !errors.Is(err, unix.EAFNOSUPPORT) && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("removing the nftables table %s: %w", tableName, err)
		}
	}
	return nil
}
