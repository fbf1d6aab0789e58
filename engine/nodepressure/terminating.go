package nodepressure

import "time"

const (
	// shortGrace is the grace that a dying pod may have left not to be shortened for want of disk.
	// Memory and processes may be used up within it: there whoever has grace left may be evicted again.
	shortGrace = 2 * time.Second
	// diskSettleTime is how long a disk may take to show that a pod's data are gone.
	diskSettleTime = 10 * time.Second
	// recheckInterval is when to look once more at memory after a victim has gone.
	recheckInterval = 10 * time.Millisecond
)

// waitForTerminating says until when to wait for what dying pods still hold; zero: acting is due.
func (m *Machine) waitForTerminating(now time.Time, o *Observation, t *Threshold, pods []Pod) (until time.Time) {
	if !m.config.Options.CountTerminating {
		for i := range m.victims {
			until = maxTime(until, m.victims[i].waitUntil(now, pods))
		}
		return until
	}
	v := &m.victims[t.Signal.Pressure()]
	if r := t.Signal.Resource(); r != Memory && r != PIDs {
		return v.waitForDisk(now, pods)
	}
	back, until := v.terminatingUsage(now, t, pods)
	for i := range pods {
		p := &pods[i]
		if p.TerminatesBy.IsZero() || p.Stats == nil || p.UID == v.uid || t.shortensGrace(now, p) {
			continue
		}
		if end := p.TerminatesBy.Add(cleanupTimeout); now.Before(end) {
			until = earliest(until, end)
			back += p.Stats.usageOf(t.Signal)
		}
	}
	if back == 0 || m.available(t.Signal, o)+back < m.requiredAvailable(t, o) {
		return time.Time{}
	}
	return until
}

// requiredAvailable is what must be available for nobody to go.
func (m *Machine) requiredAvailable(t *Threshold, o *Observation) int64 {
	stat := &o.Signals[t.Signal]
	need := t.Value.Of(stat.Capacity).Amount
	if t.MinReclaim != nil {
		need += t.MinReclaim.Of(stat.Capacity).Amount
	}
	if t.Hard() && t.Signal == MemoryAvailable && m.forecast.exhausts {
		need = max(need, m.forecast.projectedUse+1)
	}
	return need
}

// terminatingUsage is what the victim was last seen to hold: the node's figure may be older than the pod's,
// and what was freed between must not be missed. One that is not listed any more is counted
// for one look after that.
func (v *victim) terminatingUsage(now time.Time, t *Threshold, pods []Pod) (back int64, until time.Time) {
	if v.uid == "" || !now.Before(v.until) {
		return 0, time.Time{}
	}
	back = v.lastUsage
	for i := range pods {
		if p := &pods[i]; p.UID == v.uid && !p.TerminatesBy.IsZero() {
			if t.shortensGrace(now, p) {
				return 0, time.Time{} // it has time left, which may be shortened
			}
			if p.Stats != nil {
				v.lastUsage = p.Stats.usageOf(t.Signal)
				back = max(back, v.lastUsage)
			}
			return back, v.until
		}
	}
	v.uid = ""
	return back, now.Add(recheckInterval)
}

// waitForDisk says until when the victim, and then its data, are waited for.
func (v *victim) waitForDisk(now time.Time, pods []Pod) time.Time {
	until := v.waitUntil(now, pods)
	switch {
	case v.uid == "" || !until.IsZero():
		return until
	case v.gone.IsZero() && now.Before(v.until):
		v.gone = now
	}
	if end := v.gone.Add(diskSettleTime); !v.gone.IsZero() && now.Before(end) {
		return end
	}
	return time.Time{}
}

// waitUntil is until when the victim is waited for; zero: it is gone, or overdue.
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

// nearlyTerminated says that a dying pod is about to be killed, or has been.
func nearlyTerminated(now time.Time, p *Pod) bool { return p.TerminatesBy.Sub(now) <= shortGrace }

// shortensGrace says that the threshold does not wait for a dying pod's grace.
func (t *Threshold) shortensGrace(now time.Time, p *Pod) bool {
	if s := t.Signal; s.memory() || s == PIDAvailable {
		return t.Hard() && now.Before(p.TerminatesBy)
	}
	return t.Hard() && !nearlyTerminated(now, p)
}

// usageOf is how much the pod has of what a signal of memory or pids is about; 0 for others.
func (s *PodStats) usageOf(of Signal) int64 {
	switch of.Resource() {
	case Memory:
		return s.Memory
	case PIDs:
		return s.Processes
	}
	return 0
}

func maxTime(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
