package pressure

import (
	"cmp"
	"slices"
	"time"
)

// candidate is a pod with what it is ranked by.
type candidate struct {
	pod     *Pod
	unknown bool  // nothing is known of what it uses
	exceeds bool  // it uses more than it asked for
	used    int64 // of what is short
	over    int64 // what it uses beyond what it asked for
}

// rank brings the pods into the order in which they go: for memory and disks those of
// which nothing is known, those that use more than they asked for, those of lower priority,
// those that are furthest over; for pids by priority and then by number of processes. Equals
// stay in their order.
func (m *Machine) rank(s Signal, pods []Pod) []candidate {
	out := make([]candidate, len(pods))
	for i := range pods {
		out[i] = m.candidate(s, &pods[i])
	}
	byPriority := func(a, b *candidate) int { return cmp.Compare(a.pod.Spec.Priority, b.pod.Spec.Priority) }
	if s == PIDAvailable {
		slices.SortStableFunc(out, func(a, b candidate) int {
			return cmp.Or(byPriority(&a, &b), first(a.unknown, b.unknown), cmp.Compare(b.used, a.used))
		})
		return out
	}
	slices.SortStableFunc(out, func(a, b candidate) int {
		return cmp.Or(first(a.unknown, b.unknown), first(a.exceeds, b.exceeds), byPriority(&a, &b), cmp.Compare(b.over, a.over))
	})
	return out
}

// first orders true before false.
func first(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

func (m *Machine) candidate(s Signal, p *Pod) candidate {
	c := candidate{pod: p, unknown: p.Stats == nil}
	if c.unknown {
		return c
	}
	var asked int64
	switch s.Resource() {
	case Memory:
		c.used, asked = p.Stats.Memory, p.asked(p.Spec.Requests.Memory, p.overhead().Memory)
	case PIDs:
		c.used = p.Stats.Processes
	case EphemeralStorage:
		c.used, asked = m.stored(s, p, bytes), p.asked(p.Spec.Requests.Ephemeral, p.overhead().Ephemeral)
	case Inodes:
		c.used = m.stored(s, p, inodes)
		c.exceeds = c.used > 0 // nobody can ask for inodes
		if !m.config.Options.RankInodes {
			asked = p.asked(p.Spec.Requests.Ephemeral, p.overhead().Ephemeral) // bytes off inodes, as upstream (features.md section 5, trap 1)
		}
	}
	c.over = c.used - asked
	c.exceeds = c.exceeds || c.over > 0
	return c
}

// choose is the first pod in rank that may go; nil when there is none.
func (m *Machine) choose(now time.Time, o *Observation, t *Threshold, pods []Pod) *Evict {
	ranked := m.rank(t.Signal, pods)
	for i := range ranked {
		p := ranked[i].pod
		if Critical(p.Pod, p.Terms) || !t.mayEnd(now, p) {
			continue
		}
		e := m.evict(o, t, p)
		return &e
	}
	return nil
}

// mayEnd says that ending the pod brings anything: it is not being ended, or its grace may be shortened.
func (t *Threshold) mayEnd(now time.Time, p *Pod) bool {
	return p.DiesBy.IsZero() || t.shortens(now, p)
}

// grace is how many seconds a pod has that a threshold evicts.
func (m *Machine) grace(t *Threshold, p *Pod) int64 {
	if t.Hard() {
		return hardGrace
	}
	var given *int64
	if p.Terms != nil {
		given = p.Terms.Grace
	}
	return m.config.SoftGrace(given)
}

// SoftGrace is how many seconds a pod has that a soft threshold evicts; own are its spec.terminationGracePeriodSeconds.
func (c *Config) SoftGrace(own *int64) int64 {
	g, given := c.MaxPodGrace, own != nil
	switch {
	case g < 0 && c.Options.NegativeGraceIsPods && given:
		return *own
	case g < 0 && c.Options.NegativeGraceIsPods:
		return defaultGrace
	case given:
		return max(min(g, *own), 0)
	}
	return max(g, 0)
}
