package workload

// deleteExcess keeps the oldest of the pods that run on a node; while a surge is under way, the oldest
// of the present template and of the older ones.
func (p *daemonPlanner) deleteExcess(b *daemonNodePods) {
	for n, i := range b.running {
		updated := p.pods[i].Hash == p.set.Hash
		switch {
		case p.set.MaxSurge == 0 && n > 0:
			p.delete(i, DaemonExcess)
		case updated && b.updated < 0:
			b.updated = i
		case !updated && b.outdated < 0:
			b.outdated = i
		default:
			p.delete(i, DaemonExcess)
		}
	}
}

// rollingUpdate deletes old pods, so that new ones are made, as long as no more than
// MaxUnavailable nodes are without an available one. An old pod that is not available costs
// nothing. One where no new pod could be made stays.
func (p *daemonPlanner) rollingUpdate(groups []daemonNodePods) {
	var without int32
	var candidates []int
	for i := range groups {
		b := &groups[i]
		if b.allDeleted || len(b.all) == 0 && !b.node.ShouldRun {
			continue
		}
		switch {
		case b.updated >= 0:
			if !p.available(b.updated) {
				without++
			}
		case b.outdated < 0:
			without++ // one is being made or stopped
		case !b.node.ShouldRun:
		case !p.available(b.outdated):
			without++
			p.delete(b.outdated, DaemonOutdated)
		default:
			candidates = append(candidates, b.outdated)
		}
	}
	for _, i := range candidates[:min(max(0, int(p.set.MaxUnavailable-without)), len(candidates))] {
		p.delete(i, DaemonOutdated)
	}
}

// surgingUpdate makes new pods beside old ones, MaxSurge at a time, and deletes an old one when the
// new one is available. Where the old one is not even ready, it goes at once, if the
// new one is there; and a new one beside an old one that is not available costs nothing.
func (p *daemonPlanner) surgingUpdate(groups []daemonNodePods) {
	var surging int32
	var candidates []*DaemonNode
	for i := range groups {
		b := &groups[i]
		switch {
		case b.allDeleted || b.outdated < 0:
		case b.updated >= 0 && (!p.pods[b.outdated].Ready || p.available(b.updated)):
			p.delete(b.outdated, DaemonOutdated)
		case b.updated >= 0:
			surging++
		case !b.node.ShouldRun:
		case !p.available(b.outdated):
			p.create(b.node)
		default:
			candidates = append(candidates, b.node)
		}
	}
	for _, n := range candidates[:min(max(0, int(p.set.MaxSurge-surging)), len(candidates))] {
		p.create(n)
	}
}
