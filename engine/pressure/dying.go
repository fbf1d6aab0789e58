package pressure

import "time"

const (
	// soon is the grace that a dying pod may have left not to be shortened for want of disk.
	// Memory and processes may be used up within it: there whoever has grace left may be evicted again.
	soon = 2 * time.Second
	// settled is how long a disk may take to show that a pod's data are gone.
	settled = 10 * time.Second
	// again is when to look once more at memory after a victim has gone.
	again = 10 * time.Millisecond
)

// comesBack says until when to wait for what dying pods still hold; zero: acting is due.
func (m *Machine) comesBack(now time.Time, o *Observation, t *Threshold, pods []Pod) (until time.Time) {
	if !m.config.Options.CountDying {
		for i := range m.victims {
			until = later(until, m.victims[i].waitedFor(now, pods))
		}
		return until
	}
	v := &m.victims[t.Signal.Pressure()]
	if r := t.Signal.Resource(); r != Memory && r != PIDs {
		return v.settles(now, pods)
	}
	back, until := v.last(now, t, pods)
	for i := range pods {
		p := &pods[i]
		if p.DiesBy.IsZero() || p.Stats == nil || p.UID == v.uid || t.shortens(now, p) {
			continue
		}
		if end := p.DiesBy.Add(cleanup); now.Before(end) {
			until = sooner(until, end)
			back += p.Stats.holds(t.Signal)
		}
	}
	if back == 0 || m.available(t.Signal, o)+back < m.need(t, o) {
		return time.Time{}
	}
	return until
}

// need is what must be available for nobody to go.
func (m *Machine) need(t *Threshold, o *Observation) int64 {
	stat := &o.Signals[t.Signal]
	need := t.Value.Of(stat.Capacity).Amount
	if t.MinReclaim != nil {
		need += t.MinReclaim.Of(stat.Capacity).Amount
	}
	if t.Hard() && t.Signal == MemoryAvailable && m.growth.exhausts {
		need = max(need, m.growth.soon+1)
	}
	return need
}

// last is what the victim was last seen to hold: the node's figure may be older than the pod's,
// and what was freed between must not be missed. One that is not listed any more is counted
// for one look after that.
func (v *victim) last(now time.Time, t *Threshold, pods []Pod) (back int64, until time.Time) {
	if v.uid == "" || !now.Before(v.until) {
		return 0, time.Time{}
	}
	back = v.holds
	for i := range pods {
		if p := &pods[i]; p.UID == v.uid && !p.DiesBy.IsZero() {
			if t.shortens(now, p) {
				return 0, time.Time{} // it has time left, which may be shortened
			}
			if p.Stats != nil {
				v.holds = p.Stats.holds(t.Signal)
				back = max(back, v.holds)
			}
			return back, v.until
		}
	}
	v.uid = ""
	return back, now.Add(again)
}

// settles says until when the victim, and then its data, are waited for.
func (v *victim) settles(now time.Time, pods []Pod) time.Time {
	until := v.waitedFor(now, pods)
	switch {
	case v.uid == "" || !until.IsZero():
		return until
	case v.gone.IsZero() && now.Before(v.until):
		v.gone = now
	}
	if end := v.gone.Add(settled); !v.gone.IsZero() && now.Before(end) {
		return end
	}
	return time.Time{}
}

// waitedFor is until when the victim is waited for; zero: it is gone, or overdue.
func (v *victim) waitedFor(now time.Time, pods []Pod) time.Time {
	if v.uid == "" || !now.Before(v.until) {
		return time.Time{}
	}
	for i := range pods {
		if pods[i].UID == v.uid && !pods[i].DiesBy.IsZero() {
			return v.until
		}
	}
	return time.Time{}
}

// ending says that a dying pod is about to be killed, or has been.
func ending(now time.Time, p *Pod) bool { return p.DiesBy.Sub(now) <= soon }

// shortens says that the threshold does not wait for a dying pod's grace.
func (t *Threshold) shortens(now time.Time, p *Pod) bool {
	if s := t.Signal; s.memory() || s == PIDAvailable {
		return t.Hard() && now.Before(p.DiesBy)
	}
	return t.Hard() && !ending(now, p)
}

// holds is how much the pod has of what a signal of memory or pids is about; 0 for others.
func (s *PodStats) holds(of Signal) int64 {
	switch of.Resource() {
	case Memory:
		return s.Memory
	case PIDs:
		return s.Processes
	}
	return 0
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
