package nodepressure

import (
	"time"

	"github.com/berthproject/berth/engine/order"
)

const (
	// shortGrace is the remaining grace period below which a disk threshold does not shorten it.
	// Memory and processes may be exhausted sooner, so their thresholds shorten any grace period.
	shortGrace = 2 * time.Second
	// diskSettleTime is how long the statistics of a disk may lag behind the deletion of a pod's data.
	diskSettleTime = 10 * time.Second
	// recheckInterval is the delay of the next memory check after a victim is deleted.
	recheckInterval = 10 * time.Millisecond
)

// waitForTerminating returns the time until which to wait for the resources of terminating pods;
// zero: an eviction is due.
func (m *Machine) waitForTerminating(now time.Time, o *Observation, t *Threshold, pods []Pod) (until time.Time) {
	if !m.config.Options.CountTerminating {
		for i := range m.victims {
			until = order.Max(until, m.victims[i].waitUntil(now, pods))
		}
		return until
	}
	v := &m.victims[t.Signal.Pressure()]
	if r := t.Signal.Resource(); r != Memory && r != PIDs {
		return v.waitForDisk(now, pods)
	}
	usage, until := v.terminatingUsage(now, t, pods)
	for i := range pods {
		p := &pods[i]
		if p.TerminatesBy.IsZero() || p.Stats == nil || p.UID == v.uid || t.shortensGrace(now, p) {
			continue
		}
		if end := p.TerminatesBy.Add(cleanupTimeout); now.Before(end) {
			until = order.Earliest(until, end)
			usage += p.Stats.usageOf(t.Signal)
		}
	}
	if usage == 0 || m.available(t.Signal, o)+usage < m.requiredAvailable(t, o) {
		return time.Time{}
	}
	return until
}

// requiredAvailable returns the amount that must be available to evict no pod.
func (m *Machine) requiredAvailable(t *Threshold, o *Observation) int64 {
	stat := &o.Signals[t.Signal]
	need := t.Value.Of(stat.Capacity).Amount
	if t.MinReclaim != nil {
		need += t.MinReclaim.Of(stat.Capacity).Amount
	}
	if t.Hard() && t.Signal == MemoryAvailable && m.forecast.exhausted {
		need = max(need, m.forecast.projectedUse+1)
	}
	return need
}

// terminatingUsage returns the larger of the victim's previous and current usage. The node's measurement may
// be older than the pod's, so memory that the pod freed in between must still count. A victim that is no
// longer listed counts for one more check. The usage is 0 if the threshold may shorten the grace period.
func (v *victim) terminatingUsage(now time.Time, t *Threshold, pods []Pod) (usage int64, until time.Time) {
	if v.uid == "" || !now.Before(v.until) {
		return 0, time.Time{}
	}
	usage = v.lastUsage
	for i := range pods {
		if p := &pods[i]; p.UID == v.uid && !p.TerminatesBy.IsZero() {
			if t.shortensGrace(now, p) {
				return 0, time.Time{} // its remaining grace period may be shortened
			}
			if p.Stats != nil {
				v.lastUsage = p.Stats.usageOf(t.Signal)
				usage = max(usage, v.lastUsage)
			}
			return usage, v.until
		}
	}
	v.uid = ""
	return usage, now.Add(recheckInterval)
}

// waitForDisk returns the time until which to wait for the deletion of the victim, and then for that
// of its data.
func (v *victim) waitForDisk(now time.Time, pods []Pod) time.Time {
	until := v.waitUntil(now, pods)
	switch {
	case v.uid == "" || !until.IsZero():
		return until
	case v.deletedAt.IsZero() && now.Before(v.until):
		v.deletedAt = now
	}
	if end := v.deletedAt.Add(diskSettleTime); !v.deletedAt.IsZero() && now.Before(end) {
		return end
	}
	return time.Time{}
}

// waitUntil returns the time until which to wait for the victim; zero: it is deleted or overdue.
func (v *victim) waitUntil(now time.Time, pods []Pod) time.Time {
	if v.uid == "" || !now.Before(v.until) {
		return time.Time{}
	}
	for i := range pods {
		if pods[i].UID == v.uid && !pods[i].TerminatesBy.IsZero() {
			return v.until
		}
	}
	return time.Time{}
}

// nearlyTerminated reports whether a terminating pod is about to be killed or was killed.
func nearlyTerminated(now time.Time, p *Pod) bool { return p.TerminatesBy.Sub(now) <= shortGrace }

// shortensGrace reports whether the threshold shortens a terminating pod's grace period.
func (t *Threshold) shortensGrace(now time.Time, p *Pod) bool {
	if s := t.Signal; s.memory() || s == PIDAvailable {
		return t.Hard() && now.Before(p.TerminatesBy)
	}
	return t.Hard() && !nearlyTerminated(now, p)
}

// usageOf returns the pod's usage for a memory or PID signal, and 0 for other signals.
func (s *PodStats) usageOf(signal Signal) int64 {
	switch signal.Resource() {
	case Memory:
		return s.Memory
	case PIDs:
		return s.Processes
	}
	return 0
}
