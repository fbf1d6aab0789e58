package fastpath

import "math"

// scoreSpread computes the raw scores of soft spreading. The weight of a key depends on
// the number of domains of the feasible nodes.
func (e *Engine) scoreSpread(ec *equivalenceClass, buckets []*nodeBucket, bounds *scoreBounds) {
	sc := &e.scratch
	sc.topologyWeights = append(sc.topologyWeights[:0], make([]float64, len(ec.soft))...)
	for len(sc.domainsSeen) < len(ec.soft) {
		sc.domainsSeen = append(sc.domainsSeen, nil)
	}
	for _, b := range buckets {
		if b.verdict != bucketFits {
			continue
		}
		if b.ignoredInSpread = ec.strict && ec.lacksTopologyKey(b); b.ignoredInSpread {
			continue
		}
		bounds.spreadNodes += int(b.count)
		for k := range ec.soft {
			if t := &ec.soft[k]; !t.host && e.firstInDomain(k, b.key[t.slot]) {
				sc.topologyWeights[k]++
			}
		}
	}
	for k := range ec.soft {
		if ec.soft[k].host {
			sc.topologyWeights[k] = float64(bounds.spreadNodes)
		}
		sc.topologyWeights[k] = math.Log(sc.topologyWeights[k] + 2)
	}
	for _, b := range buckets {
		if b.verdict != bucketFits || b.ignoredInSpread {
			continue
		}
		b.spreadScore = ec.spreadScore(b, sc.topologyWeights)
		if !bounds.anySpread {
			bounds.anySpread, bounds.minSpread, bounds.maxSpread = true, b.spreadScore, b.spreadScore
		}
		bounds.minSpread, bounds.maxSpread = min(bounds.minSpread, b.spreadScore), max(bounds.maxSpread, b.spreadScore)
	}
}

// firstInDomain reports whether a domain of a soft constraint occurs for the first time in
// this decision.
func (e *Engine) firstInDomain(k int, domain int32) bool {
	seen := e.scratch.domainsSeen[k]
	for len(seen) <= int(domain) {
		seen = append(seen, 0)
	}
	e.scratch.domainsSeen[k] = seen
	first := seen[domain] != e.clock
	seen[domain] = e.clock
	return first
}

func (ec *equivalenceClass) lacksTopologyKey(b *nodeBucket) bool {
	for k := range ec.soft {
		t := &ec.soft[k]
		if t.host && b.key[slotFlags]&flagHostname == 0 || !t.host && b.key[t.slot] == 0 {
			return true
		}
	}
	return false
}

// spreadScore sums over the soft constraints in order, like plugins.spreadScorer.
func (ec *equivalenceClass) spreadScore(b *nodeBucket, weights []float64) int64 {
	var sum float64
	for k := range ec.soft {
		t := &ec.soft[k]
		n := b.key[t.slot]
		if t.host {
			if b.key[slotFlags]&flagHostname == 0 {
				continue
			}
		} else {
			if n == 0 {
				continue
			}
			n = t.counter.InDomain(n)
		}
		term := float64(float64(n)*weights[k]) + t.skew
		sum += term
	}
	return int64(math.Round(sum))
}
