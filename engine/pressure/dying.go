package pressure

import "time"

// soon is the grace that a dying pod may have left to be counted on by a hard threshold;
// one that has more may be evicted again, to shorten it.
const soon = 2 * time.Second

// comesBack says until when to wait for what dying pods still hold; zero: acting is due.
func (m *Machine) comesBack(now time.Time, o *Observation, t *Threshold, pods []Pod) (until time.Time) {
	if !m.config.Options.CountDying {
		for i := range m.victims {
			until = later(until, m.victims[i].waitedFor(now, pods))
		}
		return until
	}
	if r := t.Signal.Resource(); r != Memory && r != PIDs {
		return m.victims[t.Signal.Pressure()].waitedFor(now, pods)
	}
	var back int64
	for i := range pods {
		p := &pods[i]
		if p.DiesBy.IsZero() || p.Stats == nil || t.Hard() && !ending(now, p) {
			continue
		}
		if end := p.DiesBy.Add(cleanup); now.Before(end) {
			until = sooner(until, end)
			back += p.Stats.holds(t.Signal)
		}
	}
	stat := &o.Signals[t.Signal]
	need := t.Value.Of(stat.Capacity).Amount
	if t.MinReclaim != nil {
		need += t.MinReclaim.Of(stat.Capacity).Amount
	}
	if t.Hard() && t.Signal == MemoryAvailable && m.growth.exhausts {
		need = max(need, m.growth.soon)
	}
	if back == 0 || m.available(t.Signal, o)+back < need {
		return time.Time{}
	}
	return until
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

// holds is how much the pod has of what a signal of memory or pids is about.
func (s *PodStats) holds(of Signal) int64 {
	if of == PIDAvailable {
		return s.Processes
	}
	return s.Memory
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
