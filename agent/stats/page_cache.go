package stats

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/berthproject/berth/agent/cgroup"
)

// unaccountedThreshold is the amount of unaccounted memory, in bytes, at which PageCache reads page tables.
const unaccountedThreshold = 8 << 20

// PageCache returns the page cache of the pods in bytes. It includes memory that is charged,
// not yet accounted, and in no page table. It allocates and can be slow.
func (p *Pods) PageCache(list []*corev1.Pod) (cache int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.syncEntries(list)
	for _, pod := range list {
		e := p.entries[pod.UID]
		e.open(p.opts.Host)
		var m cgroup.Memory
		if e.group == nil || e.group.Memory(&m) != nil {
			continue
		}
		cache += m.File
		if m.Unaccounted() < unaccountedThreshold {
			continue
		}
		anonymous, err := p.opts.Host.AnonymousMemory(e.path)
		if err != nil {
			continue
		}
		cache += max(m.Unaccounted()-max(anonymous-m.Anon, 0), 0)
	}
	return cache
}
