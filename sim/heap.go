package sim

import "time"

// timedCall is a scheduled call.
type timedCall struct {
	at  time.Time
	seq uint64
	f   func()
}

// eventHeap is a heap by time, then by order of arrival.
type eventHeap []timedCall

func (q eventHeap) Len() int      { return len(q) }
func (q eventHeap) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *eventHeap) Push(x any)   { e, _ := x.(timedCall); *q = append(*q, e) }
func (q eventHeap) Less(i, j int) bool {
	if c := q[i].at.Compare(q[j].at); c != 0 {
		return c < 0
	}
	return q[i].seq < q[j].seq
}

func (q *eventHeap) Pop() any {
	last := len(*q) - 1
	e := (*q)[last]
	(*q)[last] = timedCall{}
	*q = (*q)[:last]
	return e
}
