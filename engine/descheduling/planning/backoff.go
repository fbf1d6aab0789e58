package planning

import "time"

// BackoffKey identifies moves of an owner's pods off a node for a strategy; without From and
// Strategy, all moves of the owner's pods.
type BackoffKey struct{ Owner, From, Strategy string }

// MoveBackoff is an exponential backoff for failed moves. The delay is Initial after the first
// failure and doubles with each further one, up to Max. The count resets when no failure occurs
// for Max after the end of the last delay.
type MoveBackoff struct {
	Initial, Max time.Duration

	entries map[BackoffKey]backoffEntry
}

type backoffEntry struct {
	count  int
	until  time.Time
	reason string
}

// NewMoveBackoff returns a backoff of ten minutes at first and a day at most.
func NewMoveBackoff() *MoveBackoff {
	return &MoveBackoff{Initial: 10 * time.Minute, Max: 24 * time.Hour, entries: map[BackoffKey]backoffEntry{}}
}

// RecordFailure records a failed move. It returns when the move may be repeated and how often
// it failed.
func (m *MoveBackoff) RecordFailure(now time.Time, k BackoffKey, reason string) (until time.Time, count int) {
	r := m.entries[k]
	if r.count > 0 && now.After(r.until.Add(m.Max)) {
		r.count = 0
	}
	r.count++
	r.until, r.reason = now.Add(m.delay(r.count)), reason
	m.entries[k] = r
	return r.until, r.count
}

// Restore records the failures that another process counted.
func (m *MoveBackoff) Restore(k BackoffKey, count int, until time.Time) {
	if r := m.entries[k]; r.count < count {
		m.entries[k] = backoffEntry{count, until, "such a move failed before"}
	}
}

// Active reports whether the key backs off, and until when and why.
func (m *MoveBackoff) Active(now time.Time, k BackoffKey) (until time.Time, reason string, ok bool) {
	if m == nil {
		return time.Time{}, "", false
	}
	r, exists := m.entries[k]
	if !exists || !r.until.After(now) {
		return time.Time{}, "", false
	}
	return r.until, r.reason, true
}

// ActiveFor reports whether the move or its workload backs off, and until when and why.
func (m *MoveBackoff) ActiveFor(now time.Time, x *Move) (until time.Time, reason string, ok bool) {
	if until, reason, ok = m.Active(now, MoveKey(x)); ok {
		return until, reason, ok
	}
	return m.Active(now, WorkloadKey(x))
}

// DeleteExpired deletes the entries whose count has been reset by time.
func (m *MoveBackoff) DeleteExpired(now time.Time) {
	for k, r := range m.entries { // in any order
		if now.After(r.until.Add(m.Max)) {
			delete(m.entries, k)
		}
	}
}

// Len returns the number of entries.
func (m *MoveBackoff) Len() int { return len(m.entries) }

// delay returns the delay after the nth failure; n starts at 1.
func (m *MoveBackoff) delay(n int) time.Duration {
	d := m.Initial
	for ; n > 1 && d < m.Max; n-- {
		d *= 2
	}
	return min(d, m.Max)
}
