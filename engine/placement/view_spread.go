package placement

import "math"

// spreadOut computes the raw values of soft spreading: the weight of a key
// follows from how many domains the feasible nodes are in.
func (e *Engine) spreadOut(sh *shape, buckets []*bucket, ext *extent) {
	sc := &e.scratch
	sc.sizes = append(sc.sizes[:0], make([]float64, len(sh.soft))...)
	for len(sc.opened) < len(sh.soft) {
		sc.opened = append(sc.opened, nil)
	}
	for _, b := range buckets {
		if b.verdict != fits {
			continue
		}
		if b.aside = sh.strict && sh.lacksKey(b); b.aside {
			continue
		}
		ext.taking += int(b.count)
		for k := range sh.soft {
			if t := &sh.soft[k]; !t.host && e.open(k, b.of[t.slot]) {
				sc.sizes[k]++
			}
		}
	}
	for k := range sh.soft {
		if sh.soft[k].host {
			sc.sizes[k] = float64(ext.taking)
		}
		sc.sizes[k] = math.Log(sc.sizes[k] + 2)
	}
	for _, b := range buckets {
		if b.verdict != fits || b.aside {
			continue
		}
		b.spread = sh.spreadOf(b, sc.sizes)
		if !ext.takes {
			ext.takes, ext.leastSpread, ext.spread = true, b.spread, b.spread
		}
		ext.leastSpread, ext.spread = min(ext.leastSpread, b.spread), max(ext.spread, b.spread)
	}
}

// open says whether a domain of a soft constraint is met for the first time in
// this decision.
func (e *Engine) open(k int, domain int32) bool {
	seen := e.scratch.opened[k]
	for len(seen) <= int(domain) {
		seen = append(seen, 0)
	}
	e.scratch.opened[k] = seen
	fresh := seen[domain] != e.clock
	seen[domain] = e.clock
	return fresh
}

func (sh *shape) lacksKey(b *bucket) bool {
	for k := range sh.soft {
		t := &sh.soft[k]
		if t.host && b.of[slotFlags]&flagHost == 0 || !t.host && b.of[t.slot] == 0 {
			return true
		}
	}
	return false
}

// spreadOf sums over the soft constraints in their order, as softSpread.raw does.
func (sh *shape) spreadOf(b *bucket, weights []float64) int64 {
	var sum float64
	for k := range sh.soft {
		t := &sh.soft[k]
		at := b.of[t.slot]
		n := at
		if t.host {
			if b.of[slotFlags]&flagHost == 0 {
				continue
			}
		} else {
			if at == 0 {
				continue
			}
			n = t.counter.In(at)
		}
		term := float64(float64(n)*weights[k]) + t.skew
		sum += term
	}
	return int64(math.Round(sum))
}
