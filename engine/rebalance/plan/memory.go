package plan

import (
	"time"
)

// Key is what is remembered of moves: an owner's pods off a node, for a strategy; without these two, all of an owner's pods.
type Key struct{ Owner, From, Strategy string }

// Memory is what is known of moves that were in vain: such a move is not made again for First, twice as long
// after each that was in vain again, up to Most. When none was until Most after the end of the last time, it
// begins with First again. It is what displace.Backoff is for pods that were thrown out.
type Memory struct {
	First, Most time.Duration

	known map[Key]remembered
}

// remembered is one Key's series.
type remembered struct {
	count int
	until time.Time
	why   string
}

// NewMemory remembers moves for ten minutes at first and a day at most.
func NewMemory() *Memory {
	return &Memory{First: 10 * time.Minute, Most: 24 * time.Hour, known: map[Key]remembered{}}
}

// InVain takes in that a move did not bring what it was to bring, and why. It returns until when it is not
// made again, and how many times it was in vain.
func (m *Memory) InVain(now time.Time, k Key, why string) (until time.Time, count int) {
	r := m.known[k]
	if r.count > 0 && now.After(r.until.Add(m.Most)) {
		r.count = 0
	}
	r.count++
	r.until, r.why = now.Add(m.pause(r.count)), why
	m.known[k] = r
	return r.until, r.count
}

// Recall takes in what another process knew of a move: how many times it was in vain, and until when it was not to be made.
func (m *Memory) Recall(k Key, count int, until time.Time) {
	if r := m.known[k]; r.count < count {
		m.known[k] = remembered{count, until, "such a move came back before"}
	}
}

// Knows says whether a move was in vain not long ago: until when it is not made again, and why.
func (m *Memory) Knows(now time.Time, k Key) (until time.Time, why string, ok bool) {
	if m == nil {
		return time.Time{}, "", false
	}
	r, known := m.known[k]
	if !known || !r.until.After(now) {
		return time.Time{}, "", false
	}
	return r.until, r.why, true
}

// Against says whether a move is not to be made, as one like it, or another of its workload, was in vain not long ago.
func (m *Memory) Against(now time.Time, x *Move) (until time.Time, why string, ok bool) {
	if until, why, ok = m.Knows(now, KeyOf(x)); ok {
		return until, why, ok
	}
	return m.Knows(now, Workload(x))
}

// Sweep forgets what does not matter any more.
func (m *Memory) Sweep(now time.Time) {
	for k, r := range m.known { // each by itself; the order does not matter
		if now.After(r.until.Add(m.Most)) {
			delete(m.known, k)
		}
	}
}

// Len is how many series are remembered.
func (m *Memory) Len() int { return len(m.known) }

// pause is the nth one, from 1.
func (m *Memory) pause(n int) time.Duration {
	d := m.First
	for ; n > 1 && d < m.Most; n-- {
		d *= 2
	}
	return min(d, m.Most)
}
