package nodepressure

import (
	"cmp"
	"slices"
	"time"

	"github.com/berthproject/berth/engine/order"
)

// rankedPod is a pod with its ranking criteria.
type rankedPod struct {
	pod         *Pod
	unknown     bool  // no usage statistics
	exceeds     bool  // uses more than its request
	used        int64 // of the scarce resource
	overRequest int64 // usage beyond the request
}

// rank sorts the pods in eviction order. For memory and disk: pods without statistics, pods over their
// request, lower priority, larger excess. For PIDs: lower priority, more processes. The sort is
// stable.
func (m *Machine) rank(s Signal, pods []Pod) []rankedPod {
	out := make([]rankedPod, len(pods))
	for i := range pods {
		out[i] = m.rankPod(s, &pods[i])
	}
	byPriority := func(a, b *rankedPod) int { return cmp.Compare(a.pod.Spec.Priority, b.pod.Spec.Priority) }
	if s == PIDAvailable {
		slices.SortStableFunc(out, func(a, b rankedPod) int {
			return cmp.Or(byPriority(&a, &b), order.TrueFirst(a.unknown, b.unknown), cmp.Compare(b.used, a.used))
		})
		return out
	}
	slices.SortStableFunc(out, func(a, b rankedPod) int {
		return cmp.Or(order.TrueFirst(a.unknown, b.unknown), order.TrueFirst(a.exceeds, b.exceeds), byPriority(&a, &b), cmp.Compare(b.overRequest, a.overRequest))
	})
	return out
}

func (m *Machine) rankPod(s Signal, p *Pod) rankedPod {
	r := rankedPod{pod: p, unknown: p.Stats == nil}
	if r.unknown {
		return r
	}
	var requested int64
	switch s.Resource() {
	case Memory:
		r.used, requested = p.Stats.Memory, effectiveRequest(p.Spec.Requests.Memory, p.overhead().Memory)
	case PIDs:
		r.used = p.Stats.Processes
	case EphemeralStorage:
		r.used, requested = m.localUsage(s, p, usedBytes), effectiveRequest(p.Spec.Requests.Ephemeral, p.overhead().Ephemeral)
	case Inodes:
		r.used = m.localUsage(s, p, usedInodes)
		r.exceeds = r.used > 0 // there are no inode requests
		if !m.config.Options.RankInodes {
			requested = effectiveRequest(p.Spec.Requests.Ephemeral, p.overhead().Ephemeral) // the kubelet subtracts bytes from inodes
		}
	}
	r.overRequest = r.used - requested
	r.exceeds = r.exceeds || r.overRequest > 0
	return r
}

// selectVictim returns the eviction of the first pod in rank that may be evicted, or nil.
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

// canEvict reports whether evicting the pod has an effect: it is not terminating, or its grace
// period may be shortened.
func (t *Threshold) canEvict(now time.Time, p *Pod) bool {
	return p.TerminatesBy.IsZero() || t.shortensGrace(now, p)
}

// gracePeriod returns the grace period in seconds of a pod that a threshold evicts.
func (m *Machine) gracePeriod(t *Threshold, p *Pod) int64 {
	if t.Hard() {
		return hardGrace
	}
	var podGrace *int64
	if p.EvictionSpec != nil {
		podGrace = p.EvictionSpec.Grace
	}
	return m.config.SoftGrace(podGrace)
}

// SoftGrace returns the grace period in seconds of a pod that a soft threshold evicts; podGrace is its
// spec.terminationGracePeriodSeconds.
func (c *Config) SoftGrace(podGrace *int64) int64 {
	g, specified := c.MaxPodGrace, podGrace != nil
	switch {
	case g < 0 && c.Options.NegativeGraceMeansPodGrace && specified:
		return *podGrace
	case g < 0 && c.Options.NegativeGraceMeansPodGrace:
		return defaultGrace
	case specified:
		return max(min(g, *podGrace), 0)
	}
	return max(g, 0)
}
