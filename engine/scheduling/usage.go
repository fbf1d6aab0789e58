package scheduling

// CacheUsage is the size of the caches that decisions fill.
type CacheUsage struct {
	// IndexEntries are counters, terms and derived values of the index of the cluster.
	IndexEntries, IndexBytes int
	// ClassEntries are the specifications that have equivalence classes. ClassBytes includes
	// their score caches.
	ClassEntries, ClassBytes int
}

// CacheUsage returns the approximate size of the caches of the machine's placers.
func (m *Machine) CacheUsage() CacheUsage {
	var u CacheUsage
	for _, p := range m.placers {
		if sizer, ok := p.(interface{ Usage() (entries, bytes int) }); ok {
			entries, bytes := sizer.Usage()
			u.ClassEntries, u.ClassBytes = u.ClassEntries+entries, u.ClassBytes+bytes
			u.IndexBytes, u.IndexEntries = m.state.Index().Size()
		}
	}
	return u
}
