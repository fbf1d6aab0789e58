package scheduling

import (
	"container/heap"
	"time"
)

// deadlines is a heap of instants at which attempts are looked after. An entry is void once
// its attempt has another deadline, or none.
type deadlines []deadline

type deadline struct {
	at time.Time
	a  *attempt
}

func (d *deadlines) add(at time.Time, a *attempt) {
	heap.Push(d, deadline{at, a})
}

// first is the earliest deadline that counts.
func (d *deadlines) first() (time.Time, bool) {
	for len(*d) > 0 {
		if e := (*d)[0]; e.a.deadline.Equal(e.at) {
			return e.at, true
		}
		heap.Pop(d)
	}
	return time.Time{}, false
}

// due takes out an attempt whose deadline has come.
func (d *deadlines) due(now time.Time) (*attempt, bool) {
	at, ok := d.first()
	if !ok || at.After(now) {
		return nil, false
	}
	return heap.Pop(d).(deadline).a, true
}

func (d deadlines) Len() int { return len(d) }

func (d deadlines) Less(i, j int) bool {
	if c := d[i].at.Compare(d[j].at); c != 0 {
		return c < 0
	}
	return d[i].a.uid < d[j].a.uid
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
