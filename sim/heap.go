package sim

import "time"

// timedCall is a scheduled call.
type timedCall struct {
	at  time.Time
	seq uint64 // order of scheduling
	f   func()
}

// callHeap is a binary heap of calls, ordered by time and then by seq. Unlike container/heap, it does not allocate an
// interface value for each call.
type callHeap []timedCall

func (q callHeap) less(i, j int) bool {
	if c := q[i].at.Compare(q[j].at); c != 0 {
		return c < 0
	}
	return q[i].seq < q[j].seq
}

// push adds a call.
func (q *callHeap) push(e timedCall) {
	h := append(*q, e)
	*q = h
	for i := len(h) - 1; i > 0; {
		parent := (i - 1) / 2
		if !h.less(i, parent) {
			return
		}
		h[i], h[parent] = h[parent], h[i]
		i = parent
	}
}

// pop removes and returns the first call. The heap must not be empty.
func (q *callHeap) pop() timedCall {
	h := *q
	first, last := h[0], len(h)-1
	h[0], h[last] = h[last], timedCall{}
	h = h[:last]
	*q = h
	for i := 0; ; {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(h); child++ {
			if h.less(child, least) {
				least = child
			}
		}
		if least == i {
			return first
		}
		h[i], h[least] = h[least], h[i]
		i = least
	}
}
