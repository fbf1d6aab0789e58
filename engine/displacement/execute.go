package displacement

import "github.com/berthproject/berth/engine/model"

// mark sets the DisruptionTarget condition of the victims from i on. No victim is deleted before all have the
// condition, so that another process can finish a preemption whose first victim is deleted.
func (m *Machine) mark(i int) Action {
	for i < len(m.victims) && m.skipsCondition(&m.victims[i]) {
		i++
	}
	if i == len(m.victims) {
		return m.record(0)
	}
	v := &m.victims[i]
	a := SetCondition{Victim: i, Record: m.recordOf(i), Mark: !v.marked || m.spec.Eviction != nil, Fail: v.Fail}
	if m.requiresVersion() {
		a.Version = v.Pod.ResourceVersion
	}
	return m.do(a, func(r Result) Action {
		switch {
		case r.Status == Done:
			v.marked, v.own = true, v.own || r.Own
			if r.Pod != nil {
				m.version = r.Pod.ResourceVersion
			}
			return m.mark(i + 1)
		case r.Status == Conflict && m.spec.Eviction != nil:
			return m.retryEviction(i)
		case r.Status == Conflict:
			return m.checkReplaced(i, m.mark)
		case r.Status == Absent && m.spec.Eviction == nil:
			v.ended, v.recorded = true, true
			return m.mark(i + 1)
		}
		return m.fail(i, r.Status)
	})
}

// skipsCondition reports whether the victim needs no write. The pod of an eviction is written in any case, which
// verifies that it has not changed.
func (m *Machine) skipsCondition(v *victim) bool {
	return v.ended || m.spec.Eviction == nil && v.marked && (!v.Fail || v.Pod.Phase == model.Failed)
}

// checkReplaced reads a victim after a conflict. If the victim is gone or another pod has its name, it continues with
// the next victim. Otherwise it fails: the API server also returns a conflict for a pod that changes continuously.
func (m *Machine) checkReplaced(i int, next func(int) Action) Action {
	return m.do(ReadVictim{i, m.victims[i].Pod, Executing}, func(r Result) Action {
		v := &m.victims[i]
		if r.Status == Absent || r.Status == Done && r.Pod.UID != v.Pod.UID {
			v.ended, v.recorded = true, true
			return next(i + 1)
		}
		return m.fail(i, Unknown)
	})
}

// record writes the records of the victims from i on, each before the victim is deleted. A crash between the two
// would otherwise leave a deleted pod without a record. A record that the API server permanently rejects does not
// stop the displacement. If the deletion fails, the record describes a displacement that did not happen.
func (m *Machine) record(i int) Action {
	for i < len(m.victims) && m.victims[i].ended && m.victims[i].recorded {
		i++
	}
	switch {
	case i == len(m.victims):
		return m.end(Displaced, 0)
	case m.victims[i].recorded:
		return m.delete(i)
	}
	return m.do(WriteRecord{i, m.recordOf(i)}, func(r Result) Action {
		switch {
		case r.Status == Done || r.Status == Rejected:
			m.victims[i].recorded = true
			return m.delete(i)
		case m.spec.Eviction != nil:
			return m.retryEviction(i)
		}
		return m.fail(i, Unknown)
	})
}

// delete deletes a victim, then continues with the next one.
func (m *Machine) delete(i int) Action {
	v := &m.victims[i]
	if v.ended {
		return m.record(i + 1)
	}
	return m.do(Delete{Victim: i, Pod: v.Pod, Version: m.deleteVersion(), Grace: m.spec.Record.Grace}, func(r Result) Action {
		switch {
		case r.Status == Done, r.Status == Absent && m.spec.Eviction == nil:
			v.ended, v.deleted = true, true
			return m.record(i + 1)
		case r.Status == Conflict && m.spec.Eviction != nil:
			return m.retryEviction(i)
		case r.Status == Conflict:
			return m.checkReplaced(i, m.record)
		}
		return m.fail(i, r.Status)
	})
}

// recordOf returns the record of a victim.
func (m *Machine) recordOf(i int) *Record {
	v, r := &m.victims[i], m.spec.Record
	r.Victim, r.Entries = v.Pod, v.entries
	if r.Node == "" {
		r.Node = v.Pod.NodeName
	}
	if m.spec.Eviction != nil {
		r.Rule = m.evictionRule(&r)
	}
	return &r
}
