//go:build linux

package serviceproxy

import (
	"net/netip"
	"slices"

	"github.com/google/nftables"
	"github.com/google/nftables/binaryutil"
	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"
)

// masqueradeMark is the bit in a packet's mark that requests masquerading. kube-proxy uses 0x4000.
const masqueradeMark = 0x2000

// Registers. Each has 16 bytes, so an IPv6 address and a port use one register and a quarter of the next.
const (
	reg1 = unix.NFT_REG_1
	reg2 = unix.NFT_REG_2
	reg4 = unix.NFT_REG_4
)

// registerAfter returns the register that follows an address in the given register (of 16 bytes).
func (f family) registerAfter(register uint32) uint32 {
	const first4 = unix.NFT_REG32_00 // registers of 4 bytes
	words := uint32(4)
	if f.ip4() {
		words = 1
	}
	return first4 + (register-unix.NFT_REG_1)*4 + words
}

// source loads the packet's source address.
func (f family) source(register uint32) expr.Any {
	if f.ip4() {
		return &expr.Payload{DestRegister: register, Base: expr.PayloadBaseNetworkHeader, Offset: 12, Len: 4}
	}
	return &expr.Payload{DestRegister: register, Base: expr.PayloadBaseNetworkHeader, Offset: 8, Len: 16}
}

// destination loads the packet's destination address.
func (f family) destination(register uint32) expr.Any {
	if f.ip4() {
		return &expr.Payload{DestRegister: register, Base: expr.PayloadBaseNetworkHeader, Offset: 16, Len: 4}
	}
	return &expr.Payload{DestRegister: register, Base: expr.PayloadBaseNetworkHeader, Offset: 24, Len: 16}
}

// protocolAndPort loads the protocol and the destination port.
func protocolAndPort(register uint32) []expr.Any {
	return []expr.Any{
		&expr.Meta{Key: expr.MetaKeyL4PROTO, Register: register},
		&expr.Payload{DestRegister: register + 1, Base: expr.PayloadBaseTransportHeader, Offset: 2, Len: 2},
	}
}

// verdict ends the rule with a verdict. chain is where to continue, for goto and jump.
func verdict(kind expr.VerdictKind, chain string) expr.Any {
	return &expr.Verdict{Kind: kind, Chain: chain}
}

// lookup looks up a register in a set or map. For a set, the rule continues only if the set has the value.
func lookup(s *nftables.Set, register uint32) *expr.Lookup {
	return &expr.Lookup{SourceRegister: register, SetName: s.Name, SetID: s.ID}
}

// verdictMap looks up the chain to continue in.
func verdictMap(s *nftables.Set, register uint32) expr.Any {
	l := lookup(s, register)
	l.IsDestRegSet, l.DestRegister = true, unix.NFT_REG_VERDICT
	return l
}

// setMark sets the masquerade bit.
func setMark() []expr.Any {
	return []expr.Any{
		&expr.Meta{Key: expr.MetaKeyMARK, Register: reg1},
		&expr.Bitwise{SourceRegister: reg1, DestRegister: reg1, Len: 4, Mask: native(^uint32(masqueradeMark)), Xor: native(masqueradeMark)},
		&expr.Meta{Key: expr.MetaKeyMARK, SourceRegister: true, Register: reg1},
	}
}

// native returns a number in native byte order.
func native(v uint32) []byte { return binaryutil.NativeEndian.PutUint32(v) }

// bitSet continues the rule only if the value that load reads into reg1 has the bit.
func bitSet(load expr.Any, bit uint32) []expr.Any {
	return []expr.Any{load,
		&expr.Bitwise{SourceRegister: reg1, DestRegister: reg1, Len: 4, Mask: native(bit), Xor: native(0)},
		&expr.Cmp{Op: expr.CmpOpNeq, Register: reg1, Data: native(0)}}
}

// localAddress continues the rule only if the packet's source, or destination, is an address of this machine.
func localAddress(source bool) []expr.Any {
	return []expr.Any{
		&expr.Fib{Register: reg1, ResultADDRTYPE: true, FlagSADDR: source, FlagDADDR: !source},
		&expr.Cmp{Op: expr.CmpOpEq, Register: reg1, Data: native(unix.RTN_LOCAL)}}
}

// notLoopback continues the rule only if the destination is not a loopback address.
func (f family) notLoopback() []expr.Any {
	if !f.ip4() {
		return []expr.Any{f.destination(reg1), &expr.Cmp{Op: expr.CmpOpNeq, Register: reg1, Data: netip.IPv6Loopback().AsSlice()}}
	}
	return []expr.Any{f.destination(reg1),
		&expr.Bitwise{SourceRegister: reg1, DestRegister: reg1, Len: 4, Mask: []byte{255, 0, 0, 0}, Xor: make([]byte, 4)},
		&expr.Cmp{Op: expr.CmpOpNeq, Register: reg1, Data: []byte{127, 0, 0, 0}}}
}

// dnat redirects the connection to the endpoint in reg2 and the register after it.
func (f family) dnat() expr.Any {
	return &expr.NAT{Type: expr.NATTypeDestNAT, Family: uint32(f), RegAddrMin: reg2, RegProtoMin: f.registerAfter(reg2)}
}

// loadID loads the identifier of a chain, which has three words.
func loadID(register uint32, chain string) expr.Any {
	return &expr.Immediate{Register: register, Data: []byte(chainID(chain))}
}

// choose loads a random endpoint of a chain into reg2. It uses reg4.
func (w *writer) choose(r rule) []expr.Any {
	const number = unix.NFT_REG32_15 // the last word of reg4
	l := lookup(w.sets[endpointMap], reg4)
	l.IsDestRegSet, l.DestRegister = true, reg2
	return []expr.Any{loadID(reg4, r.chain), &expr.Numgen{Register: number, Modulus: uint32(r.count), Type: unix.NFT_NG_RANDOM}, l}
}

// Operations on a map in a rule; the kernel's names are NFT_DYNSET_OP_UPDATE and _DELETE.
const (
	dynsetUpdate = 1
	dynsetDelete = 2
)

// expressions compiles a rule.
func (w *writer) expressions(r rule) []expr.Any {
	f := w.source.family
	switch r.action {
	case actMasquerade:
		return setMark()
	case actGoto:
		return []expr.Any{verdict(expr.VerdictGoto, r.chain)}
	case actGotoFromPods:
		return []expr.Any{f.source(reg1), lookup(w.sets[podCIDRSet], reg1), verdict(expr.VerdictGoto, r.chain)}
	case actFromMachine:
		return append(append(localAddress(true), setMark()...), verdict(expr.VerdictGoto, r.chain))
	case actGotoFrom:
		s := w.anonymousSet(&nftables.Set{Interval: true, KeyType: f.addressType()}, intervals(r.prefixes))
		return []expr.Any{f.source(reg1), lookup(s, reg1), verdict(expr.VerdictGoto, r.chain)}
	case actDrop:
		return []expr.Any{verdict(expr.VerdictDrop, "")}
	case actReuse:
		return w.reuse(r)
	case actRemember:
		out := append([]expr.Any{f.source(reg1)}, w.choose(r)...)
		m := expr.Dynset{SrcRegKey: reg1, SrcRegData: reg2, SetName: r.affinity}
		remove, update := m, m
		// An update keeps the value of an existing element, which may be an endpoint that no longer exists.
		remove.Operation, update.Operation, update.Timeout = dynsetDelete, dynsetUpdate, r.timeout
		return append(out, &remove, &update, f.dnat())
	}
	return append(w.choose(r), f.dnat())
}

// reuse redirects a client with an affinity entry to its endpoint, if the chain still has the
// endpoint, and extends the entry.
func (w *writer) reuse(r rule) []expr.Any {
	const id = unix.NFT_REG32_01 // the three words before reg2, so that the key of memberSet is contiguous
	f := w.source.family
	return []expr.Any{f.source(reg4),
		&expr.Lookup{SourceRegister: reg4, SetName: r.affinity, IsDestRegSet: true, DestRegister: reg2},
		loadID(id, r.chain), lookup(w.sets[memberSet], id),
		&expr.Dynset{SrcRegKey: reg4, SrcRegData: reg2, SetName: r.affinity, Operation: dynsetUpdate, Timeout: r.timeout},
		f.dnat()}
}

// fixedRule is a rule of a chain that every table has.
type fixedRule struct {
	chain, text string
	exprs       []expr.Any
}

// fixedChains are the chains that every table has, with the hook of base chains.
var fixedChains = []struct {
	name     string
	hook     *nftables.ChainHook
	priority *nftables.ChainPriority
}{
	{preroutingChain, nftables.ChainHookPrerouting, nftables.ChainPriorityNATDest},
	{outputChain, nftables.ChainHookOutput, nftables.ChainPriorityNATDest},
	{masqueradeChain, nftables.ChainHookPostrouting, nftables.ChainPriorityNATSource},
	{servicesChain, nil, nil}, {rejectChain, nil, nil}, {dropChain, nil, nil},
}

// fixedRules returns the rules that every table has.
func (w *writer) fixedRules() []fixedRule {
	f := w.source.family
	reject := &expr.Reject{Type: unix.NFT_REJECT_ICMP_UNREACH, Code: 3} // port unreachable
	if !f.ip4() {
		reject.Code = 4 // port unreachable in ICMPv6
	}
	translated := bitSet(&expr.Ct{Key: expr.CtKeySTATUS, Register: reg1}, 1<<5) // IPS_DST_NAT
	fullyRandom := &expr.Masq{FullyRandom: true}
	clusterIP := []expr.Any{f.destination(reg1), lookup(w.sets[clusterIPSet], reg1)}
	notFromPods := lookup(w.sets[podCIDRSet], reg1)
	notFromPods.Invert = true
	rules := []fixedRule{
		{preroutingChain, "jump services", []expr.Any{verdict(expr.VerdictJump, servicesChain)}},
		{outputChain, "jump services", []expr.Any{verdict(expr.VerdictJump, servicesChain)}},
	}
	if len(w.source.podCIDRs) > 0 {
		rules = append(rules, fixedRule{servicesChain, "cluster IP, not from pods, mark for masquerade", slices.Concat(clusterIP, []expr.Any{f.source(reg1), notFromPods}, setMark())})
	}
	rules = append(rules,
		fixedRule{servicesChain, "chain of the Service IP", slices.Concat([]expr.Any{f.destination(reg1)}, protocolAndPort(f.registerAfter(reg1)), []expr.Any{verdictMap(w.sets[serviceIPMap], reg1)})},
		fixedRule{servicesChain, "cluster IP, other port, reject", slices.Concat(clusterIP, []expr.Any{reject})},
		fixedRule{servicesChain, "chain of the node port", slices.Concat(localAddress(false), f.notLoopback(), protocolAndPort(unix.NFT_REG32_00), []expr.Any{verdictMap(w.sets[nodePortMap], reg1)})},
		fixedRule{rejectChain, "reject", []expr.Any{reject}},
		fixedRule{dropChain, "drop", []expr.Any{verdict(expr.VerdictDrop, "")}},
		fixedRule{masqueradeChain, "marked, masquerade", append(bitSet(&expr.Meta{Key: expr.MetaKeyMARK, Register: reg1}, masqueradeMark), fullyRandom)},
		fixedRule{masqueradeChain, "hairpin, masquerade", slices.Concat(translated, []expr.Any{f.source(reg1), f.destination(f.registerAfter(reg1)), lookup(w.sets[hairpinSet], reg1), fullyRandom})},
	)
	if w.source.masqueradePods {
		rules = append(rules, fixedRule{masqueradeChain, "pod to pod, masquerade", slices.Concat(translated, []expr.Any{f.source(reg1), lookup(w.sets[podCIDRSet], reg1),
			f.destination(reg1), lookup(w.sets[podCIDRSet], reg1), fullyRandom})})
	}
	return rules
}

// addFixedChains adds the chains that do not depend on Services, with their rules.
func (w *writer) addFixedChains() {
	for _, c := range fixedChains {
		chain := w.chain(c.name)
		if c.hook != nil {
			chain.Type, chain.Hooknum, chain.Priority = nftables.ChainTypeNAT, c.hook, c.priority
		}
		w.conn.AddChain(chain)
	}
	for _, r := range w.fixedRules() {
		w.addRule(w.chain(r.chain), r.text, r.exprs)
	}
}
