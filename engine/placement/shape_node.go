package placement

import (
	"math"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
)

// fail is why a node is out by itself: 0 when it is not, a negative number of
// explainStatic, or what it is short of: a bit for each resource in the order of the
// fit rule, and fitUnresolvable.
type fail int32

const (
	shortPods fail = 1 << iota
	shortCPU
	shortMemory
	shortEphemeral
	shortScalar // and up, one bit each
)

const (
	fitUnresolvable fail = 1 << 30
	maxScalars           = 24
)

// nothing is a request that every node can serve.
const nothing = math.MinInt64

// nodeScore is the pod's side of a node's own part of the score.
type nodeScore struct {
	fits           bool // NodeResourcesFit filters
	want           model.Requests
	wantCPU        int64 // want, or nothing
	wantMem        int64
	simple         bool  // cpu, memory and the number of pods are all that fit reads
	fit            int64 // weights
	balance        int64
	ownCPU, ownMem int64               // as the fit score counts them
	raw            []func(*site) int64 // the rules themselves where columns do not do
	weights        []int64
	usual          bool // fit over cpu and memory, and nothing but the balance of the two besides
}

// compileScore compiles what depends on the use of a node: fit and its scores.
func (c *compiling) compileScore() {
	t, s := &c.e.rules, &c.score
	if t.filters.Has(decision.NodePorts) {
		c.ports = c.spec.Ports
	}
	s.fits, s.want = t.filters.Has(decision.NodeResourcesFit), c.spec.Requests
	if s.fits {
		c.scalars = c.a.filteredScalars()
		c.plain = c.plain || len(c.scalars) > maxScalars
	}
	s.simple = s.fits && len(c.ports)+len(c.scalars) == 0 && s.want.Ephemeral <= 0
	s.wantCPU, s.wantMem = s.want.MilliCPU, s.want.Memory
	if s.wantCPU <= 0 {
		s.wantCPU = nothing
	}
	if s.wantMem <= 0 {
		s.wantMem = nothing
	}
	fit, balance := t.weights[decision.NodeResourcesFit], t.weights[decision.NodeResourcesBalancedAllocation]
	if fit > 0 && t.plainFit {
		own := &c.spec.Scoring
		if c.spec.ScoringSelf != nil {
			own = c.spec.ScoringSelf
		}
		s.fit, s.ownCPU, s.ownMem = fit, own.MilliCPU, own.Memory
	} else if fit > 0 {
		s.raw, s.weights = append(s.raw, c.a.scoreFit().raw), append(s.weights, fit)
	}
	if balance > 0 && t.plainBalance {
		if s.want.MilliCPU != 0 || s.want.Memory != 0 {
			s.balance = balance
		}
	} else if b := c.a.scoreBalance(); balance > 0 && b.raw != nil {
		s.raw, s.weights = append(s.raw, b.raw), append(s.weights, balance)
	}
	s.usual = s.fit > 0 && len(s.raw) == 0
}

// roomy says that a node is surely not out for what is used of it. When it says
// no, judge knows.
func (sh *shape) roomy(r *cluster.Row) bool {
	s := &sh.score
	return s.simple && r.Pods < r.AllocPods && s.wantCPU <= r.AllocCPU-r.UsedCPU && s.wantMem <= r.AllocMem-r.UsedMem
}

// judge says why a node is out by itself.
func (sh *shape) judge(x *cluster.Index, id cluster.NodeID) fail {
	if v := sh.static.Values[id]; v < 0 {
		return fail(v)
	}
	for i := range sh.ports {
		if clash(x.State().Node(id).Ports, &sh.ports[i]) {
			return fail(failPorts)
		}
	}
	if !sh.score.fits {
		return 0
	}
	r, want := &x.Rows[id], &sh.score.want
	var f fail
	if r.Pods >= r.AllocPods {
		f |= shortPods
	}
	f |= lacks(shortCPU, want.MilliCPU, r.UsedCPU, r.AllocCPU)
	f |= lacks(shortMemory, want.Memory, r.UsedMem, r.AllocMem)
	if want.Ephemeral > 0 {
		d := &x.Ephemeral[id]
		f |= lacks(shortEphemeral, want.Ephemeral, d.Used, d.Alloc)
	}
	for i := range sh.scalars {
		sc, n := &sh.scalars[i], x.State().Node(id)
		f |= lacks(shortScalar<<i, sc.Amount, n.Used.Scalar(sc.Name), n.Model.Allocatable.Scalar(sc.Name))
	}
	return f
}

func lacks(bit fail, want, used, have int64) fail {
	if want <= 0 || want <= have-used {
		return 0
	}
	if want > have {
		return bit | fitUnresolvable
	}
	return bit
}

// points is a node's own part of the total: fit and balance, by their weights.
func (sh *shape) points(x *cluster.Index, id cluster.NodeID) int32 {
	r, s := &x.Rows[id], &sh.score
	if s.usual {
		if sum := s.both(r); sum >= 0 {
			return int32(sum)
		}
	}
	var sum int64
	if s.fit > 0 {
		sum = s.fit * leastOfTwo(r, s.ownCPU, s.ownMem)
	}
	if s.balance > 0 {
		sum += s.balance * balanceOfTwo(r, s.want.MilliCPU, s.want.Memory)
	}
	if len(s.raw) > 0 {
		st := siteOf(x.State().Node(id))
		for i, raw := range s.raw {
			sum += s.weights[i] * raw(&st)
		}
	}
	return int32(sum)
}

// both is points where fit and balance are all there is and amounts are as usual; -1
// says that they are not. It computes what leastOfTwo and balanceOfTwo do.
func (s *nodeScore) both(r *cluster.Row) int64 {
	leftCPU, leftMem := r.AllocCPU-r.ScoringCPU-s.ownCPU, r.AllocMem-r.ScoringMem-s.ownMem
	if uint64(leftCPU|leftMem|r.AllocCPU|r.AllocMem) >= exact || r.AllocCPU == 0 || r.AllocMem == 0 {
		return -1 // something is negative, or large, or missing
	}
	cpu, mem := float64(r.AllocCPU), float64(r.AllocMem)
	least := int64(float64(leftCPU*100)/cpu) + int64(float64(leftMem*100)/mem)
	if s.balance == 0 {
		return s.fit * (least / 2)
	}
	a, b := 1.0, 1.0
	if used := r.UsedCPU + s.want.MilliCPU; used < r.AllocCPU {
		a = float64(used) / cpu
	}
	if used := r.UsedMem + s.want.Memory; used < r.AllocMem {
		b = float64(used) / mem
	}
	return s.fit*(least/2) + s.balance*(50+(50+evenness(a, b)-int64(r.Even))/2)
}

// leastOfTwo is LeastAllocated over cpu and memory of equal weight.
func leastOfTwo(r *cluster.Row, cpu, mem int64) int64 {
	switch {
	case r.AllocCPU == 0 && r.AllocMem == 0:
		return 0
	case r.AllocCPU == 0:
		return free(r.ScoringMem+mem, r.AllocMem)
	case r.AllocMem == 0:
		return free(r.ScoringCPU+cpu, r.AllocCPU)
	}
	return (free(r.ScoringCPU+cpu, r.AllocCPU) + free(r.ScoringMem+mem, r.AllocMem)) / 2
}

// exact is up to where 100 times an amount is exact as a float64, so that a
// division of floats, cut off, is that of the integers.
const exact = 1 << 46

func free(used, have int64) int64 {
	if used > have {
		return 0
	}
	if left := have - used; left < exact && have < exact {
		return int64(float64(left*100) / float64(have))
	}
	return (have - used) * 100 / have
}

// balanceOfTwo is the balance score over cpu and memory, operation by operation
// that of scoreBalance.
func balanceOfTwo(r *cluster.Row, cpu, mem int64) int64 {
	if r.AllocCPU == 0 || r.AllocMem == 0 {
		return 50 + (50+100-100)/2
	}
	with := evenness(part(r.UsedCPU+cpu, r.AllocCPU), part(r.UsedMem+mem, r.AllocMem))
	return 50 + (50+with-int64(r.Even))/2
}

// part is fraction, said so that it compiles to less; have is not 0.
func part(used, have int64) float64 {
	if used >= have {
		return 1
	}
	return float64(used) / float64(have)
}

func evenness(a, b float64) int64 {
	std := math.Abs((a - b) / 2)
	return int64(float64((1 - std) * 100))
}

// read fills in what the shape reads of a node: all slots below sh.slots.
func (sh *shape) read(id cluster.NodeID, v *vector) {
	v[slotStatic] = sh.static.Values[id]
	if sh.mask != nil {
		v[slotImages] = sh.mask.Values[id]
	}
	for i := range sh.columns {
		v[sh.columns[i].slot] = sh.columns[i].column.IDs[id]
	}
	for i := range sh.fine {
		f := &sh.fine[i]
		v[f.slot] = f.counter.At(id)
		if f.counter.Column.IDs[id] != 0 {
			v[f.slot] += f.present
		}
	}
	if sh.flagged {
		v[slotFlags], v[slotDraw] = sh.readFlags(id)
	}
}

// readFlags reads what the counters of fine columns mean to the shape.
func (sh *shape) readFlags(id cluster.NodeID) (flags, drawn int32) {
	if sh.hostAt != nil && sh.hostAt.IDs[id] != 0 {
		flags |= flagHost
	}
	for i := range sh.affine {
		if p := &sh.affine[i]; p.slot == 0 {
			switch {
			case p.counter.Column.IDs[id] == 0:
				flags |= flagAffinityLabel
			case p.counter.At(id) <= 0:
				flags |= flagAffinityNone
			}
		}
	}
	for i := range sh.anti {
		if p := &sh.anti[i]; p.slot == 0 && p.counter.At(id) > 0 {
			flags |= flagAnti
		}
	}
	for i := range sh.against {
		if p := &sh.against[i]; p.slot == 0 && p.counter.At(id) > 0 {
			flags |= flagAgainst
		}
	}
	for i := range sh.draws {
		if p := &sh.draws[i]; p.slot == 0 {
			drawn += int32(p.weight) * p.counter.At(id)
		}
	}
	return flags, drawn
}

// finish gathers what read goes through.
func (c *compiling) finish() {
	c.settle()
	for i := range c.hard {
		if h := &c.hard[i]; h.fine {
			c.fine = append(c.fine, fineUse{h.counter, h.slot, 1})
		}
	}
	for i := range c.soft {
		if t := &c.soft[i]; t.host {
			c.fine = append(c.fine, fineUse{t.counter, t.slot, 0})
		}
	}
	c.flagged = c.hostAt != nil
	for _, list := range [][]pull{c.affine, c.anti, c.against, c.draws} {
		for i := range list {
			c.flagged = c.flagged || list[i].slot == 0
		}
	}
	c.reads = []uint8{slotStatic}
	if c.flagged {
		c.reads = append(c.reads, slotFlags, slotDraw)
	}
	for slot := slotFirst; slot < min(c.slots, maxSlots); slot++ {
		c.reads = append(c.reads, uint8(slot))
	}
	c.varied = len(c.reads) > 1
	if c.mask != nil {
		c.reads = append(c.reads, slotImages)
	}
	c.noteSpots()
}
