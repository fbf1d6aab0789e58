package scheduling

import (
	"container/heap"
	"time"
)

// deadlines is a heap of instants at which attempts and nominees are looked after. An
// entry is void once what it is for has another deadline, or none.
type deadlines []deadline

type deadline struct {
	at time.Time
	of timed
}

// timed is what has a deadline.
type timed interface {
	due() time.Time // zero: none
	pod() string    // uid
}

func (d *deadlines) add(at time.Time, of timed) {
	heap.Push(d, deadline{at, of})
}

// first is the earliest deadline that counts.
func (d *deadlines) first() (time.Time, bool) {
	for len(*d) > 0 {
		if e := (*d)[0]; e.of.due().Equal(e.at) {
			return e.at, true
		}
		heap.Pop(d)
	}
	return time.Time{}, false
}

// next takes out what has its deadline behind it.
func (d *deadlines) next(now time.Time) (timed, bool) {
	at, ok := d.first()
	if !ok || at.After(now) {
		return nil, false
	}
	return heap.Pop(d).(deadline).of, true
}

func (d deadlines) Len() int { return len(d) }

func (d deadlines) Less(i, j int) bool {
	if c := d[i].at.Compare(d[j].at); c != 0 {
		return c < 0
	}
	return d[i].of.pod() < d[j].of.pod()
}

func (d deadlines) Swap(i, j int) { d[i], d[j] = d[j], d[i] }

func (d *deadlines) Push(x any) { *d = append(*d, x.(deadline)) }

func (d *deadlines) Pop() any {
	last := len(*d) - 1
	x := (*d)[last]
	(*d)[last] = deadline{}
	*d = (*d)[:last]
	return x
}
