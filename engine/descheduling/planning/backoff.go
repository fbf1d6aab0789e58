package planning

import (
	"time"
)

// BackoffKey is what is remembered of moves: an owner's pods off a node, for a strategy; without these two, all of an owner's pods.
type BackoffKey struct{ Owner, From, Strategy string }

// MoveBackoff is what is known of moves that were in vain: such a move is not made again for First, twice as long
// after each that was in vain again, up to Most. When none was until Most after the end of the last time, it
// begins with First again. It is what displace.Backoff is for pods that were thrown out.
type MoveBackoff struct {
	Initial, Max time.Duration

	entries map[BackoffKey]backoffEntry
}

// backoffEntry is one Key's series.
type backoffEntry struct {
	count  int
	until  time.Time
	reason string
}

// NewMoveBackoff remembers moves for ten minutes at first and a day at most.
func NewMoveBackoff() *MoveBackoff {
	return &MoveBackoff{Initial: 10 * time.Minute, Max: 24 * time.Hour, entries: map[BackoffKey]backoffEntry{}}
}

// RecordFailure takes in that a move did not bring what it was to bring, and why. It returns until when it is not
// made again, and how many times it was in vain.
func (m *MoveBackoff) RecordFailure(now time.Time, k BackoffKey, why string) (until time.Time, count int) {
	r := m.entries[k]
	if r.count > 0 && now.After(r.until.Add(m.Max)) {
		r.count = 0
	}
	r.count++
	r.until, r.reason = now.Add(m.delay(r.count)), why
	m.entries[k] = r
	return r.until, r.count
}

// Restore takes in what another process knew of a move: how many times it was in vain, and until when it was not to be made.
func (m *MoveBackoff) Restore(k BackoffKey, count int, until time.Time) {
	if r := m.entries[k]; r.count < count {
		m.entries[k] = backoffEntry{count, until, "such a move came back before"}
	}
}

// Active says whether a move was in vain not long ago: until when it is not made again, and why.
func (m *MoveBackoff) Active(now time.Time, k BackoffKey) (until time.Time, why string, ok bool) {
	if m == nil {
		return time.Time{}, "", false
	}
	r, known := m.entries[k]
	if !known || !r.until.After(now) {
		return time.Time{}, "", false
	}
	return r.until, r.reason, true
}

// ActiveFor says whether a move is not to be made, as one like it, or another of its workload, was in vain not long ago.
func (m *MoveBackoff) ActiveFor(now time.Time, x *Move) (until time.Time, why string, ok bool) {
	if until, why, ok = m.Active(now, MoveKey(x)); ok {
		return until, why, ok
	}
	return m.Active(now, WorkloadKey(x))
}

// DeleteExpired forgets what does not matter any more.
func (m *MoveBackoff) DeleteExpired(now time.Time) {
	for k, r := range m.entries { // each by itself; the order does not matter
		if now.After(r.until.Add(m.Max)) {
			delete(m.entries, k)
		}
	}
}

// Len is how many series are remembered.
func (m *MoveBackoff) Len() int { return len(m.entries) }

// delay is the nth one, from 1.
func (m *MoveBackoff) delay(n int) time.Duration {
	d := m.Initial
	for ; n > 1 && d < m.Max; n-- {
		d *= 2
	}
	return min(d, m.Max)
}
