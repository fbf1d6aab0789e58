package stats

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/berthproject/berth/agent/cgroup"
)

// unaccountedThreshold is how much memory of a pod may be unaccounted before its processes are asked.
const unaccountedThreshold = 8 << 20

// PageCache is the page cache of the pods in list, in bytes: what the kernel has
// counted as such, and what it has charged but not counted yet and is in no page
// table. It allocates, and is slow where there is such; ask only when it matters.
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
