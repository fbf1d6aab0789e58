package placement

import (
	"cmp"
	"slices"

	"github.com/berthproject/berth/engine/cluster"
)

// Shapes that differ only in what few nodes have (pods of their own app, an
// image) share a view: that of their base, the shape without all that. For each
// decision those few nodes are lifted out of the shared view, judged one by one, and
// put back. So a thousand apps of twenty sizes keep twenty views up to date and not a
// thousand, and a new app of a known size is decided like an old one.

// baseKey is what makes bases equal.
type baseKey struct {
	site     siteKey
	priority int32
	numbers  [6]int64 // what nodeScore reads
}

// siteKey is what a base reads of what nodes are.
type siteKey struct {
	static  *cluster.Derived
	columns [4]*cluster.Column // by key
}

// maxLifted is how many nodes are lifted at most.
const maxLifted = 256

// settle orders the slots so that those of domains come first, by key: shapes that read
// the same domains agree in their slots with their base.
func (c *compiling) settle() {
	if c.slots > maxSlots {
		return
	}
	slices.SortFunc(c.columns, func(a, b columnUse) int { return cmp.Compare(a.column.Key, b.column.Key) })
	var to [maxSlots]int
	next := slotFirst
	take := func(slot int) {
		if to[slot] == 0 {
			to[slot] = next
			next++
		}
	}
	for i := range c.columns {
		take(c.columns[i].slot)
		c.columns[i].slot = to[c.columns[i].slot]
	}
	for slot := slotFirst; slot < c.slots; slot++ {
		take(slot)
	}
	for i := range c.hard {
		c.hard[i].slot = to[c.hard[i].slot]
	}
	for i := range c.soft {
		c.soft[i].slot = to[c.soft[i].slot]
	}
	for _, list := range [][]pull{c.affine, c.anti, c.against, c.draws} {
		for i := range list {
			list[i].slot = to[list[i].slot] // 0 stays 0
		}
	}
}

// noteSpots notes which nodes a shape may see otherwise than its base: those that
// its fine counters count on; and what it takes the others for.
func (c *compiling) noteSpots() {
	spot := func(k *cluster.Counter) {
		if !slices.Contains(c.spots, k) {
			c.spots = append(c.spots, k)
		}
	}
	everywhere := func(k *cluster.Column) {
		if !slices.Contains(c.labels, k) {
			c.labels = append(c.labels, k)
		}
	}
	for i := range c.fine {
		spot(c.fine[i].counter)
		if c.fine[i].present != 0 {
			everywhere(c.fine[i].counter.Column)
		}
	}
	for _, list := range [][]pull{c.affine, c.anti, c.against, c.draws} {
		for i := range list {
			if list[i].slot == 0 {
				spot(list[i].counter)
			}
		}
	}
	for i := range c.affine {
		if p := &c.affine[i]; p.slot == 0 {
			everywhere(p.counter.Column)
			c.blankFlags |= flagAffinityNone
		}
	}
	if c.hostAt != nil {
		everywhere(c.hostAt)
		c.blankFlags |= flagHost
	}
}

// baseOf finds or makes the base of a shape; nil where it can have none.
func (c *compiling) baseOf() *shape {
	s := &c.score
	if c.plain || len(c.columns) > len(c.site.columns) {
		return nil
	}
	c.sited, c.site.static = true, c.static
	for i := range c.columns {
		c.site.columns[i] = c.columns[i].column
	}
	if !s.simple || len(s.raw) > 0 {
		return nil
	}
	key := baseKey{site: c.site, priority: c.spec.Priority,
		numbers: [6]int64{s.want.MilliCPU, s.want.Memory, s.fit, s.balance, s.ownCPU, s.ownMem}}
	b := c.e.bases[key]
	if b == nil {
		b = &shape{spec: c.spec, slots: slotFirst + len(c.columns), at: -1, static: c.static, score: c.score,
			columns: slices.Clone(c.columns), reads: []uint8{slotStatic}, sited: true, site: c.site}
		for i := range b.columns {
			b.reads = append(b.reads, uint8(b.columns[i].slot))
		}
		b.varied = len(b.columns) > 0
		c.e.bases[key] = b
	}
	b.used = c.e.clock
	return b
}

// noteLifted notes the nodes that the shape sees otherwise than its base, if they
// are no more than a number; ok is false when they are, or when too many are not known.
func (e *Engine) noteLifted(sh *shape, most int) (ok bool) {
	sc := &e.scratch
	sc.lifted = sc.lifted[:0]
	for _, c := range sh.labels {
		if !e.index.OnAll(c) {
			return false
		}
	}
	if sc.imaged {
		if sc.lifted, ok = sh.mask.AppendSet(sc.lifted, most); !ok {
			return false
		}
	}
	for _, k := range sh.spots {
		if sc.lifted, ok = k.AppendCounted(sc.lifted, most); !ok {
			return false
		}
	}
	return true
}

// shares says whether a shape is decided by its base's view. To lift a node costs about as
// much as to look again at one that has changed. One that is asked for all the time
// while many nodes are its own gets a view for itself, or has it brought up to date, when the
// lifting has cost more than that would.
func (e *Engine) shares(sh *shape) bool {
	if sh.base == nil || !e.noteLifted(sh, maxLifted) {
		return false
	}
	sh.base.used = e.clock
	end, lifting := e.index.LogEnd(), int64(len(e.scratch.lifted))
	if sh.seen {
		sh.owed = max(0, sh.owed+lifting-(end-sh.at))
	}
	price := int64(e.state.NumNodes() / 2)
	if v := sh.view; v != nil {
		lag := end - v.pos
		if lag <= e.bearable() {
			price = lag
		}
		if lag <= lifting {
			return false
		}
	}
	if sh.owed > price {
		sh.owed = 0
		return false
	}
	sh.at, sh.last, sh.seen = end, e.clock, true
	return true
}

// blank makes a bucket of the base's view one of the shape's.
func (sh *shape) blank(b *bucket) {
	b.of[slotImages], b.of[slotFlags], b.of[slotDraw] = 0, sh.blankFlags, 0
	for i := range sh.fine {
		b.of[sh.fine[i].slot] = sh.fine[i].present
	}
}

// lift takes the noted nodes out of the base's view into buckets of their own.
func (e *Engine) lift(v *view, sh *shape) {
	sc := &e.scratch
	sc.index.clear()
	sc.buckets, sc.seats = sc.buckets[:0], sc.seats[:0]
	ranks, _, _ := e.index.Ranks()
	var of vector
	for _, id := range sc.lifted {
		s := v.seats[id]
		sc.seats = append(sc.seats, s)
		if s == 0 || s&seatOut != 0 {
			continue
		}
		v.leave(s, ranks[id])
		v.seats[id] = 0
		sh.read(id, &of)
		sc.buckets[sc.bucketOf(&of, sh.reads)].offer(id, s.points(), e.away(ranks[id]))
	}
}

// lower undoes lift.
func (e *Engine) lower(v *view) {
	sc := &e.scratch
	ranks, _, _ := e.index.Ranks()
	for i, id := range sc.lifted {
		if s := sc.seats[i]; s != 0 && s&seatOut == 0 {
			v.seats[id] = v.join(s.bucket(), s.points(), ranks[id])
		}
	}
}
