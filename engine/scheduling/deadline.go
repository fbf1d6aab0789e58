package scheduling

import "time"

// deadlines is a heap of deadlines. An entry is stale once its owner has another deadline or none.
type deadlines []deadline

type deadline struct {
	at    time.Time
	owner deadlineOwner
}

// deadlineOwner is a value with a deadline.
type deadlineOwner interface {
	due() time.Time // zero: no deadline
	pod() string    // uid
}

func (d deadline) before(e deadline) bool {
	if c := d.at.Compare(e.at); c != 0 {
		return c < 0
	}
	return d.owner.pod() < e.owner.pod()
}

func (d *deadlines) add(at time.Time, of deadlineOwner) {
	h := append(*d, deadline{at, of})
	*d = h
	for i := len(h) - 1; i > 0; {
		up := (i - 1) / 2
		if !h[i].before(h[up]) {
			return
		}
		h[i], h[up] = h[up], h[i]
		i = up
	}
}

// first returns the earliest deadline that is not stale.
func (d *deadlines) first() (time.Time, bool) {
	for len(*d) > 0 {
		if e := (*d)[0]; e.owner.due().Equal(e.at) {
			return e.at, true
		}
		d.pop()
	}
	return time.Time{}, false
}

// next removes and returns an owner whose deadline has passed.
func (d *deadlines) next(now time.Time) (deadlineOwner, bool) {
	at, ok := d.first()
	if !ok || at.After(now) {
		return nil, false
	}
	return d.pop().owner, true
}

func (d *deadlines) pop() deadline {
	h := *d
	top, last := h[0], len(h)-1
	h[0], h[last] = h[last], deadline{}
	h = h[:last]
	*d = h
	for i := 0; ; {
		down := 2*i + 1
		if down >= last {
			return top
		}
		if down+1 < last && h[down+1].before(h[down]) {
			down++
		}
		if !h[down].before(h[i]) {
			return top
		}
		h[i], h[down] = h[down], h[i]
		i = down
	}
}
