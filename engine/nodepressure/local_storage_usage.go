package nodepressure

// usedBytes and usedInodes are the amounts that localUsage sums up.
func usedBytes(f *FsStats) int64  { return f.Bytes }
func usedInodes(f *FsStats) int64 { return f.Inodes }

// localUsage returns the pod's usage of the signal's filesystem: logs, files and local volumes are on nodefs,
// writable layers on containerfs.
func (m *Machine) localUsage(s Signal, p *Pod, amount func(*FsStats) int64) (sum int64) {
	l := m.config.Layout
	layers, other := true, true // a single disk
	node := s == NodeFsAvailable || s == NodeFsInodesFree
	switch {
	case l.DedicatedImageFs && l.DedicatedContainerFs: // layers are on nodefs; imagefs has only images
		layers = s != ImageFsAvailable && s != ImageFsInodesFree
		other = layers
	case l.DedicatedImageFs:
		layers, other = !node, node
	}
	for i := range p.Stats.Containers {
		c := &p.Stats.Containers[i]
		if layers {
			sum += amount(&c.RootFs)
		}
		if other {
			sum += amount(&c.Logs)
		}
	}
	if !other {
		return sum
	}
	sum += amount(&p.Stats.Files)
	if p.EvictionSpec == nil {
		return sum
	}
	for i := range p.EvictionSpec.Volumes {
		if v := &p.EvictionSpec.Volumes[i]; v.Local {
			sum += amount(p.Stats.volume(v.Name))
		}
	}
	return sum
}

var noStats FsStats

// volume returns the usage of a volume, or no usage if it was not measured.
func (s *PodStats) volume(name string) *FsStats {
	for i := range s.Volumes {
		if s.Volumes[i].Name == name {
			return &s.Volumes[i].FsStats
		}
	}
	return &noStats
}
