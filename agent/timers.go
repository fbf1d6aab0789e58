package agent

import (
	"container/heap"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// timers is a heap of wake-up times. Outdated entries are harmless: stepping a pod early does
// nothing.
type timers struct{ heap timerHeap }

type timer struct {
	at  time.Time
	key types.UID
}

func (t *timers) add(at time.Time, key types.UID) { heap.Push(&t.heap, timer{at, key}) }

func (t *timers) next() (time.Time, bool) {
	if len(t.heap) == 0 {
		return time.Time{}, false
	}
	return t.heap[0].at, true
}

func (t *timers) due(now time.Time) (keys []types.UID) {
	for len(t.heap) > 0 && !t.heap[0].at.After(now) {
		keys = append(keys, heap.Pop(&t.heap).(timer).key)
	}
	return keys
}

type timerHeap []timer

func (h timerHeap) Len() int           { return len(h) }
func (h timerHeap) Less(i, j int) bool { return h[i].at.Before(h[j].at) }
func (h timerHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *timerHeap) Push(x any)        { *h = append(*h, x.(timer)) }
func (h *timerHeap) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}
