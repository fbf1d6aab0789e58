package workload

// deleteExcess keeps the oldest running pod of a node; during a surging update the oldest of the
// current template and of the older ones.
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

// rollingUpdate deletes old pods while at most MaxUnavailable nodes lack an available one.
// Unavailable old pods are free to delete. An old pod stays if no new one could be created there.
func (p *daemonPlanner) rollingUpdate(nodePods []daemonNodePods) {
	var unavailable int32
	var candidates []int
	for i := range nodePods {
		b := &nodePods[i]
		if b.allDeleted || len(b.all) == 0 && !b.node.ShouldRun {
			continue
		}
		switch {
		case b.updated >= 0:
			if !p.available(b.updated) {
				unavailable++
			}
		case b.outdated < 0:
			unavailable++ // its pod is being created or terminated
		case !b.node.ShouldRun:
		case !p.available(b.outdated):
			unavailable++
			p.delete(b.outdated, DaemonOutdated)
		default:
			candidates = append(candidates, b.outdated)
		}
	}
	for _, i := range candidates[:min(max(0, int(p.set.MaxUnavailable-unavailable)), len(candidates))] {
		p.delete(i, DaemonOutdated)
	}
}

// surgingUpdate creates new pods beside old ones, MaxSurge at a time, and deletes an old one once its new one is
// available. An old pod that is not ready is deleted once the new one exists. A new one beside an unavailable old one
// does not count against MaxSurge.
func (p *daemonPlanner) surgingUpdate(nodePods []daemonNodePods) {
	var surging int32
	var candidates []*DaemonNode
	for i := range nodePods {
		b := &nodePods[i]
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
