package deadlines

import "time"

// Heap is a heap of deadlines. An entry is stale once its owner has another deadline or none. The zero
// value is empty.
type Heap []entry

type entry struct {
	at    time.Time
	owner Owner
}

// Owner is a value with a deadline.
type Owner interface {
	Due() time.Time // zero: no deadline
	PodUID() string // breaks ties
}

func (d entry) before(e entry) bool {
	if c := d.at.Compare(e.at); c != 0 {
		return c < 0
	}
	return d.owner.PodUID() < e.owner.PodUID()
}

// Add adds an owner's deadline.
func (d *Heap) Add(at time.Time, owner Owner) {
	h := append(*d, entry{at, owner})
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

// First returns the earliest deadline that is not stale.
func (d *Heap) First() (time.Time, bool) {
	for len(*d) > 0 {
		if e := (*d)[0]; e.owner.Due().Equal(e.at) {
			return e.at, true
		}
		d.pop()
	}
	return time.Time{}, false
}

// Next removes and returns an owner whose deadline has passed.
func (d *Heap) Next(now time.Time) (Owner, bool) {
	at, ok := d.First()
	if !ok || at.After(now) {
		return nil, false
	}
	return d.pop().owner, true
}

func (d *Heap) pop() entry {
	h := *d
	top, last := h[0], len(h)-1
	h[0], h[last] = h[last], entry{}
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
