package scheduling

import "time"

// deadlineHeap orders the instants at which pending work times out. An entry is stale once its owner has another
// deadline or none. The zero value is empty.
type deadlineHeap []deadlineEntry

type deadlineEntry struct {
	at    time.Time
	owner deadlineOwner
}

// deadlineOwner is a value with a deadline.
type deadlineOwner interface {
	due() time.Time // zero: no deadline
	podUID() string // breaks ties
}

func (d deadlineEntry) before(e deadlineEntry) bool {
	if c := d.at.Compare(e.at); c != 0 {
		return c < 0
	}
	return d.owner.podUID() < e.owner.podUID()
}

// add adds an owner's deadline.
func (d *deadlineHeap) add(at time.Time, owner deadlineOwner) {
	h := append(*d, deadlineEntry{at, owner})
	*d = h
	for i := len(h) - 1; i > 0; {
		parent := (i - 1) / 2
		if !h[i].before(h[parent]) {
			return
		}
		h[i], h[parent] = h[parent], h[i]
		i = parent
	}
}

// first returns the earliest deadline that is not stale.
func (d *deadlineHeap) first() (time.Time, bool) {
	for len(*d) > 0 {
		if e := (*d)[0]; e.owner.due().Equal(e.at) {
			return e.at, true
		}
		d.pop()
	}
	return time.Time{}, false
}

// next removes and returns an owner whose deadline has passed.
func (d *deadlineHeap) next(now time.Time) (deadlineOwner, bool) {
	at, ok := d.first()
	if !ok || at.After(now) {
		return nil, false
	}
	return d.pop().owner, true
}

func (d *deadlineHeap) pop() deadlineEntry {
	h := *d
	top, last := h[0], len(h)-1
	h[0], h[last] = h[last], deadlineEntry{}
	h = h[:last]
	*d = h
	for i := 0; ; {
		child := 2*i + 1
		if child >= last {
			return top
		}
		if child+1 < last && h[child+1].before(h[child]) {
			child++
		}
		if !h[child].before(h[i]) {
			return top
		}
		h[i], h[child] = h[child], h[i]
		i = child
	}
}
