package workload

// thin keeps the oldest of the pods that run on a node; while a surge is under way, the oldest
// of the present template and of the older ones.
func (p *daemonPlanner) thin(b *daemonBerth) {
	for n, i := range b.running {
		updated := p.pods[i].Hash == p.set.Hash
		switch {
		case p.set.MaxSurge == 0 && n > 0:
			p.delete(i, DaemonExcess)
		case updated && b.new < 0:
			b.new = i
		case !updated && b.old < 0:
			b.old = i
		default:
			p.delete(i, DaemonExcess)
		}
	}
}

// replace deletes old pods, so that new ones are made, as long as no more than
// MaxUnavailable nodes are without an available one. An old pod that is not available costs
// nothing. One where no new pod could be made stays.
func (p *daemonPlanner) replace(berths []daemonBerth) {
	var without int32
	var candidates []int
	for i := range berths {
		b := &berths[i]
		if b.leaving || len(b.all) == 0 && !b.node.Run {
			continue
		}
		switch {
		case b.new >= 0:
			if !p.available(b.new) {
				without++
			}
		case b.old < 0:
			without++ // one is being made or stopped
		case !b.node.Run:
		case !p.available(b.old):
			without++
			p.delete(b.old, DaemonOutdated)
		default:
			candidates = append(candidates, b.old)
		}
	}
	for _, i := range candidates[:min(max(0, int(p.set.MaxUnavailable-without)), len(candidates))] {
		p.delete(i, DaemonOutdated)
	}
}

// surge makes new pods beside old ones, MaxSurge at a time, and deletes an old one when the
// new one is available. Where the old one is not even ready, it goes at once, if the
// new one is there; and a new one beside an old one that is not available costs nothing.
func (p *daemonPlanner) surge(berths []daemonBerth) {
	var surging int32
	var candidates []*DaemonNode
	for i := range berths {
		b := &berths[i]
		switch {
		case b.leaving || b.old < 0:
		case b.new >= 0 && (!p.pods[b.old].Ready || p.available(b.new)):
			p.delete(b.old, DaemonOutdated)
		case b.new >= 0:
			surging++
		case !b.node.Run:
		case !p.available(b.old):
			p.create(b.node)
		default:
			candidates = append(candidates, b.node)
		}
	}
	for _, n := range candidates[:min(max(0, int(p.set.MaxSurge-surging)), len(candidates))] {
		p.create(n)
	}
}
