package fastpath

import (
	"math"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/placement/plugins"
)

// failure is why a filter that reads a single node rejects it. It is 0 if none does, a
// negative number for staticReason, or a bit for each insufficient resource in the order of
// NodeResourcesFit, with fitUnresolvable.
type failure int32

const (
	insufficientPods failure = 1 << iota
	insufficientCPU
	insufficientMemory
	insufficientEphemeral
	insufficientScalar // and higher bits
)

const (
	fitUnresolvable failure = 1 << 30
	maxScalars              = 24
)

// noRequest is a request that every node satisfies.
const noRequest = math.MinInt64

// passesQuickFit reports whether a quick check finds enough resources on a node. If not,
// filter decides.
func (ec *equivalenceClass) passesQuickFit(r *cluster.Row) bool {
	s := &ec.score
	return s.cpuMemoryOnly && r.Pods < r.AllocPods && s.requestCPU <= r.AllocCPU-r.UsedCPU && s.requestMem <= r.AllocMem-r.UsedMem
}

// filter returns why a node is rejected, regardless of pods on other nodes; 0 if it is not.
func (ec *equivalenceClass) filter(x *cluster.Index, id cluster.NodeID) failure {
	if v := ec.static.Values[id]; v < 0 {
		return failure(v)
	}
	for i := range ec.ports {
		if plugins.PortConflict(x.State().Node(id).Ports, &ec.ports[i]) {
			return failure(failPorts)
		}
	}
	if !ec.score.filterFit {
		return 0
	}
	r, requests := &x.Rows[id], &ec.score.requests
	var f failure
	if r.Pods >= r.AllocPods {
		f |= insufficientPods
	}
	f |= insufficientBit(insufficientCPU, requests.MilliCPU, r.UsedCPU, r.AllocCPU)
	f |= insufficientBit(insufficientMemory, requests.Memory, r.UsedMem, r.AllocMem)
	if requests.Ephemeral > 0 {
		d := &x.Ephemeral[id]
		f |= insufficientBit(insufficientEphemeral, requests.Ephemeral, d.Used, d.Alloc)
	}
	for i := range ec.scalars {
		sc, n := &ec.scalars[i], x.State().Node(id)
		f |= insufficientBit(insufficientScalar<<i, sc.Amount, n.Used.Scalar(sc.Name), n.Model.Allocatable.Scalar(sc.Name))
	}
	return f
}

func insufficientBit(bit failure, requested, used, allocatable int64) failure {
	if requested <= 0 || requested <= allocatable-used {
		return 0
	}
	if requested > allocatable {
		return bit | fitUnresolvable
	}
	return bit
}

// readKey fills in the key of a node.
func (ec *equivalenceClass) readKey(id cluster.NodeID, key *bucketKey) {
	key[slotStatic] = ec.static.Values[id]
	if ec.mask != nil {
		key[slotImages] = ec.mask.Values[id]
	}
	for i := range ec.domainSlots {
		key[ec.domainSlots[i].slot] = ec.domainSlots[i].topology.DomainOf[id]
	}
	for i := range ec.countSlots {
		c := &ec.countSlots[i]
		key[c.slot] = c.counter.OnNode(id)
		if c.counter.Topology.DomainOf[id] != 0 {
			key[c.slot] += c.present
		}
	}
	if ec.usesFlags {
		key[slotFlags], key[slotAffinityScore] = ec.readFlags(id)
	}
}

// readFlags reads the counters of fine-grained topologies.
func (ec *equivalenceClass) readFlags(id cluster.NodeID) (flags, affinity int32) {
	if ec.hostnames != nil && ec.hostnames.DomainOf[id] != 0 {
		flags |= flagHostname
	}
	for i := range ec.affinity {
		if t := &ec.affinity[i]; t.slot == 0 {
			switch {
			case t.counter.Topology.DomainOf[id] == 0:
				flags |= flagAffinityLabel
			case t.counter.OnNode(id) <= 0:
				flags |= flagAffinityNone
			}
		}
	}
	for i := range ec.antiAffinity {
		if t := &ec.antiAffinity[i]; t.slot == 0 && t.counter.OnNode(id) > 0 {
			flags |= flagAntiAffinity
		}
	}
	for i := range ec.existingAntiAffinity {
		if t := &ec.existingAntiAffinity[i]; t.slot == 0 && t.counter.OnNode(id) > 0 {
			flags |= flagExistingAntiAffinity
		}
	}
	for i := range ec.scoringTerms {
		if t := &ec.scoringTerms[i]; t.slot == 0 {
			affinity += int32(t.weight) * t.counter.OnNode(id)
		}
	}
	return flags, affinity
}

// finish determines the slots to read.
func (c *classBuilder) finish() {
	c.orderSlots()
	for i := range c.hard {
		if h := &c.hard[i]; h.fineGrained {
			c.countSlots = append(c.countSlots, countSlot{h.counter, h.slot, 1})
		}
	}
	for i := range c.soft {
		if t := &c.soft[i]; t.host {
			c.countSlots = append(c.countSlots, countSlot{t.counter, t.slot, 0})
		}
	}
	c.usesFlags = c.hostnames != nil
	for _, list := range [][]affinityTerm{c.affinity, c.antiAffinity, c.existingAntiAffinity, c.scoringTerms} {
		for i := range list {
			c.usesFlags = c.usesFlags || list[i].slot == 0
		}
	}
	c.usedSlots = []uint8{slotStatic}
	if c.usesFlags {
		c.usedSlots = append(c.usedSlots, slotFlags, slotAffinityScore)
	}
	for slot := slotFirst; slot < min(c.slots, maxSlots); slot++ {
		c.usedSlots = append(c.usedSlots, uint8(slot))
	}
	c.usesDomains = len(c.usedSlots) > 1
	if c.mask != nil {
		c.usedSlots = append(c.usedSlots, slotImages)
	}
	c.collectExceptionCounters()
}
