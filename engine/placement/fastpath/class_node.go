package fastpath

import (
	"math"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement/framework"
	"github.com/berthproject/berth/engine/placement/plugins"
)

// failure is why a node is rejected by itself: 0 if it is not, a negative number from
// staticReason, or a bit for each insufficient resource in the order of NodeResourcesFit,
// with fitUnresolvable.
type failure int32

const (
	shortPods failure = 1 << iota
	shortCPU
	shortMemory
	shortEphemeral
	shortScalar // and higher bits
)

const (
	fitUnresolvable failure = 1 << 30
	maxScalars              = 24
)

// noRequest is a request that every node satisfies.
const noRequest = math.MinInt64

// scoreParams are the parameters of the pod for the resource filter and score of a node.
type scoreParams struct {
	filterFit              bool // NodeResourcesFit is enabled
	want                   model.Resources
	wantCPU                int64 // want, or noRequest
	wantMem                int64
	cpuMemoryOnly          bool  // the fit filter reads only cpu, memory and the number of pods
	fitWeight              int64 // weights
	balanceWeight          int64
	scoringCPU, scoringMem int64                                  // for the fit score
	scorers                []func(*framework.CandidateNode) int64 // score functions of plugins without a fast implementation
	weights                []int64
	fastScore              bool // only the default fit score and possibly the default balance score
}

// compileScore compiles the resource filter and scores.
func (c *classBuilder) compileScore() {
	t, s := &c.e.plugins, &c.score
	if t.filters.Has(decision.NodePorts) {
		c.ports = c.spec.Ports
	}
	s.filterFit, s.want = t.filters.Has(decision.NodeResourcesFit), c.spec.Requests
	if s.filterFit {
		c.scalars = plugins.FilteredScalars(c.a)
		c.reference = c.reference || len(c.scalars) > maxScalars
	}
	s.cpuMemoryOnly = s.filterFit && len(c.ports)+len(c.scalars) == 0 && s.want.Ephemeral <= 0
	s.wantCPU, s.wantMem = s.want.MilliCPU, s.want.Memory
	if s.wantCPU <= 0 {
		s.wantCPU = noRequest
	}
	if s.wantMem <= 0 {
		s.wantMem = noRequest
	}
	fit, balance := t.weights[decision.NodeResourcesFit], t.weights[decision.NodeResourcesBalancedAllocation]
	if fit > 0 && t.defaultFit {
		requests := &c.spec.Scoring
		if c.spec.ScoringIncoming != nil {
			requests = c.spec.ScoringIncoming
		}
		s.fitWeight, s.scoringCPU, s.scoringMem = fit, requests.MilliCPU, requests.Memory
	} else if fit > 0 {
		s.scorers, s.weights = append(s.scorers, plugins.PreScore(c.a, decision.NodeResourcesFit, nil).Score), append(s.weights, fit)
	}
	if balance > 0 && t.defaultBalance {
		if s.want.MilliCPU != 0 || s.want.Memory != 0 {
			s.balanceWeight = balance
		}
	} else if b := plugins.PreScore(c.a, decision.NodeResourcesBalancedAllocation, nil); balance > 0 && b.Score != nil {
		s.scorers, s.weights = append(s.scorers, b.Score), append(s.weights, balance)
	}
	s.fastScore = s.fitWeight > 0 && len(s.scorers) == 0
}

// fitsSurely reports that a node has enough resources. If it returns false, filter
// decides.
func (ec *equivalenceClass) fitsSurely(r *cluster.Row) bool {
	s := &ec.score
	return s.cpuMemoryOnly && r.Pods < r.AllocPods && s.wantCPU <= r.AllocCPU-r.UsedCPU && s.wantMem <= r.AllocMem-r.UsedMem
}

// filter returns why a node is rejected by itself; 0 if it is not.
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
	r, want := &x.Rows[id], &ec.score.want
	var f failure
	if r.Pods >= r.AllocPods {
		f |= shortPods
	}
	f |= insufficientBit(shortCPU, want.MilliCPU, r.UsedCPU, r.AllocCPU)
	f |= insufficientBit(shortMemory, want.Memory, r.UsedMem, r.AllocMem)
	if want.Ephemeral > 0 {
		d := &x.Ephemeral[id]
		f |= insufficientBit(shortEphemeral, want.Ephemeral, d.Used, d.Alloc)
	}
	for i := range ec.scalars {
		sc, n := &ec.scalars[i], x.State().Node(id)
		f |= insufficientBit(shortScalar<<i, sc.Amount, n.Used.Scalar(sc.Name), n.Model.Allocatable.Scalar(sc.Name))
	}
	return f
}

func insufficientBit(bit failure, want, used, have int64) failure {
	if want <= 0 || want <= have-used {
		return 0
	}
	if want > have {
		return bit | fitUnresolvable
	}
	return bit
}

// nodeScore returns the weighted fit and balance scores of a node.
func (ec *equivalenceClass) nodeScore(x *cluster.Index, id cluster.NodeID) int32 {
	r, s := &x.Rows[id], &ec.score
	if s.fastScore {
		if sum := s.fitAndBalance(r); sum >= 0 {
			return int32(sum)
		}
	}
	var sum int64
	if s.fitWeight > 0 {
		sum = s.fitWeight * leastAllocatedCPUMem(r, s.scoringCPU, s.scoringMem)
	}
	if s.balanceWeight > 0 {
		sum += s.balanceWeight * balancedCPUMem(r, s.want.MilliCPU, s.want.Memory)
	}
	if len(s.scorers) > 0 {
		st := framework.NewCandidateNode(x.State().Node(id))
		for i, raw := range s.scorers {
			sum += s.weights[i] * raw(&st)
		}
	}
	return int32(sum)
}

// fitAndBalance returns nodeScore for the common case, or -1 if the amounts are unusual.
// It computes the same as leastAllocatedCPUMem and balancedCPUMem.
func (s *scoreParams) fitAndBalance(r *cluster.Row) int64 {
	leftCPU, leftMem := r.AllocCPU-r.ScoringCPU-s.scoringCPU, r.AllocMem-r.ScoringMem-s.scoringMem
	if uint64(leftCPU|leftMem|r.AllocCPU|r.AllocMem) >= maxExactAmount || r.AllocCPU == 0 || r.AllocMem == 0 {
		return -1 // negative, very large or zero amounts
	}
	cpu, mem := float64(r.AllocCPU), float64(r.AllocMem)
	least := int64(float64(leftCPU*100)/cpu) + int64(float64(leftMem*100)/mem)
	if s.balanceWeight == 0 {
		return s.fitWeight * (least / 2)
	}
	a, b := 1.0, 1.0
	if used := r.UsedCPU + s.want.MilliCPU; used < r.AllocCPU {
		a = float64(used) / cpu
	}
	if used := r.UsedMem + s.want.Memory; used < r.AllocMem {
		b = float64(used) / mem
	}
	return s.fitWeight*(least/2) + s.balanceWeight*(50+(50+balanceOf(a, b)-int64(r.Balance))/2)
}

// leastAllocatedCPUMem returns the LeastAllocated score over cpu and memory with equal
// weights.
func leastAllocatedCPUMem(r *cluster.Row, cpu, mem int64) int64 {
	switch {
	case r.AllocCPU == 0 && r.AllocMem == 0:
		return 0
	case r.AllocCPU == 0:
		return freePercent(r.ScoringMem+mem, r.AllocMem)
	case r.AllocMem == 0:
		return freePercent(r.ScoringCPU+cpu, r.AllocCPU)
	}
	return (freePercent(r.ScoringCPU+cpu, r.AllocCPU) + freePercent(r.ScoringMem+mem, r.AllocMem)) / 2
}

// maxExactAmount is the limit up to which 100 times an amount is exact as a float64, so
// that truncated floating-point division equals integer division.
const maxExactAmount = 1 << 46

func freePercent(used, have int64) int64 {
	if used > have {
		return 0
	}
	if remaining := have - used; remaining < maxExactAmount && have < maxExactAmount {
		return int64(float64(remaining*100) / float64(have))
	}
	return (have - used) * 100 / have
}

// balancedCPUMem returns the balance score over cpu and memory with the operations of
// scoreBalancedAllocation.
func balancedCPUMem(r *cluster.Row, cpu, mem int64) int64 {
	if r.AllocCPU == 0 || r.AllocMem == 0 {
		return 50 + (50+100-100)/2
	}
	with := balanceOf(usedPart(r.UsedCPU+cpu, r.AllocCPU), usedPart(r.UsedMem+mem, r.AllocMem))
	return 50 + (50+with-int64(r.Balance))/2
}

// usedPart is plugins.usedFraction in a form that compiles to fewer instructions. have
// must not be 0.
func usedPart(used, have int64) float64 {
	if used >= have {
		return 1
	}
	return float64(used) / float64(have)
}

func balanceOf(a, b float64) int64 {
	std := math.Abs((a - b) / 2)
	return int64(float64((1 - std) * 100))
}

// readKey fills in the key of a node.
func (ec *equivalenceClass) readKey(id cluster.NodeID, v *bucketKey) {
	v[slotStatic] = ec.static.Values[id]
	if ec.mask != nil {
		v[slotImages] = ec.mask.Values[id]
	}
	for i := range ec.domainSlots {
		v[ec.domainSlots[i].slot] = ec.domainSlots[i].topology.DomainOf[id]
	}
	for i := range ec.countSlots {
		f := &ec.countSlots[i]
		v[f.slot] = f.counter.OnNode(id)
		if f.counter.Topology.DomainOf[id] != 0 {
			v[f.slot] += f.present
		}
	}
	if ec.usesFlags {
		v[slotFlags], v[slotAffinityScore] = ec.readFlags(id)
	}
}

// readFlags reads the counters of fine-grained topologies.
func (ec *equivalenceClass) readFlags(id cluster.NodeID) (flags, affinity int32) {
	if ec.hostnames != nil && ec.hostnames.DomainOf[id] != 0 {
		flags |= flagHostname
	}
	for i := range ec.affinity {
		if p := &ec.affinity[i]; p.slot == 0 {
			switch {
			case p.counter.Topology.DomainOf[id] == 0:
				flags |= flagAffinityLabel
			case p.counter.OnNode(id) <= 0:
				flags |= flagAffinityNone
			}
		}
	}
	for i := range ec.antiAffinity {
		if p := &ec.antiAffinity[i]; p.slot == 0 && p.counter.OnNode(id) > 0 {
			flags |= flagAntiAffinity
		}
	}
	for i := range ec.existingAntiAffinity {
		if p := &ec.existingAntiAffinity[i]; p.slot == 0 && p.counter.OnNode(id) > 0 {
			flags |= flagExistingAntiAffinity
		}
	}
	for i := range ec.scoringTerms {
		if p := &ec.scoringTerms[i]; p.slot == 0 {
			affinity += int32(p.weight) * p.counter.OnNode(id)
		}
	}
	return flags, affinity
}

// finish determines the slots to read.
func (c *classBuilder) finish() {
	c.orderSlots()
	for i := range c.hard {
		if h := &c.hard[i]; h.fine {
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
	c.reads = []uint8{slotStatic}
	if c.usesFlags {
		c.reads = append(c.reads, slotFlags, slotAffinityScore)
	}
	for slot := slotFirst; slot < min(c.slots, maxSlots); slot++ {
		c.reads = append(c.reads, uint8(slot))
	}
	c.usesDomains = len(c.reads) > 1
	if c.mask != nil {
		c.reads = append(c.reads, slotImages)
	}
	c.collectExceptionCounters()
}
