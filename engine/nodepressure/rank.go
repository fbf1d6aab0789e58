package nodepressure

import (
	"cmp"
	"slices"
	"time"
)

// rankedPod is a pod with what it is ranked by.
type rankedPod struct {
	pod         *Pod
	unknown     bool  // nothing is known of what it uses
	exceeds     bool  // it uses more than it asked for
	used        int64 // of what is short
	overRequest int64 // what it uses beyond what it asked for
}

// rank brings the pods into the order in which they go: for memory and disks those of
// which nothing is known, those that use more than they asked for, those of lower priority,
// those that are furthest over; for pids by priority and then by number of processes. Equals
// stay in their order.
func (m *Machine) rank(s Signal, pods []Pod) []rankedPod {
	out := make([]rankedPod, len(pods))
	for i := range pods {
		out[i] = m.rankPod(s, &pods[i])
	}
	byPriority := func(a, b *rankedPod) int { return cmp.Compare(a.pod.Spec.Priority, b.pod.Spec.Priority) }
	if s == PIDAvailable {
		slices.SortStableFunc(out, func(a, b rankedPod) int {
			return cmp.Or(byPriority(&a, &b), trueFirst(a.unknown, b.unknown), cmp.Compare(b.used, a.used))
		})
		return out
	}
	slices.SortStableFunc(out, func(a, b rankedPod) int {
		return cmp.Or(trueFirst(a.unknown, b.unknown), trueFirst(a.exceeds, b.exceeds), byPriority(&a, &b), cmp.Compare(b.overRequest, a.overRequest))
	})
	return out
}

// trueFirst orders true before false.
func trueFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

func (m *Machine) rankPod(s Signal, p *Pod) rankedPod {
	c := rankedPod{pod: p, unknown: p.Stats == nil}
	if c.unknown {
		return c
	}
	var asked int64
	switch s.Resource() {
	case Memory:
		c.used, asked = p.Stats.Memory, p.effectiveRequest(p.Spec.Requests.Memory, p.overhead().Memory)
	case PIDs:
		c.used = p.Stats.Processes
	case EphemeralStorage:
		c.used, asked = m.localUsage(s, p, usedBytes), p.effectiveRequest(p.Spec.Requests.Ephemeral, p.overhead().Ephemeral)
	case Inodes:
		c.used = m.localUsage(s, p, usedInodes)
		c.exceeds = c.used > 0 // nobody can ask for inodes
		if !m.config.Options.RankInodes {
			asked = p.effectiveRequest(p.Spec.Requests.Ephemeral, p.overhead().Ephemeral) // bytes off inodes, as upstream (features.md section 5, trap 1)
		}
	}
	c.overRequest = c.used - asked
	c.exceeds = c.exceeds || c.overRequest > 0
	return c
}

// selectVictim is the first pod in rank that may go; nil when there is none.
func (m *Machine) selectVictim(now time.Time, o *Observation, t *Threshold, pods []Pod) *Evict {
	ranked := m.rank(t.Signal, pods)
	for i := range ranked {
		p := ranked[i].pod
		if Critical(p.Pod, p.EvictionSpec) || !t.canEvict(now, p) {
			continue
		}
		e := m.evict(o, t, p)
		return &e
	}
	return nil
}

// canEvict says that ending the pod brings anything: it is not being ended, or its grace may be shortened.
func (t *Threshold) canEvict(now time.Time, p *Pod) bool {
	return p.TerminatesBy.IsZero() || t.shortensGrace(now, p)
}

// gracePeriod is how many seconds a pod has that a threshold evicts.
func (m *Machine) gracePeriod(t *Threshold, p *Pod) int64 {
	if t.Hard() {
		return hardGrace
	}
	var given *int64
	if p.EvictionSpec != nil {
		given = p.EvictionSpec.Grace
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
