package workload

import (
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/engine/workload"
)

// Deaths remembers how pods died that their owner deleted since, so that the pause before the
// next one grows (engine/workload.Pause). What happened before a restart is forgotten, but for the
// Holds and for the pods that are still there.
type Deaths struct {
	mu sync.Mutex
	of map[place]map[types.UID]workload.Death // by the pod's uid
}

// place is where an owner's pods follow on each other: a node, or a number.
type place struct {
	owner types.UID
	name  string
}

// forgotten is how old a death is that makes no pause longer any more: its successor lived
// for as long as that, or waited.
const forgotten = time.Hour

// NewDeaths knows of none.
func NewDeaths() *Deaths { return &Deaths{of: map[place]map[types.UID]workload.Death{}} }

// Add remembers a death. With a new one, those are forgotten that do not count any more: there are places, such as nodes that
// are gone, of which nobody asks again.
func (d *Deaths) Add(owner types.UID, name string, pod types.UID, death workload.Death) {
	d.mu.Lock()
	defer d.mu.Unlock()
	p := place{owner, name}
	if _, known := d.of[p][pod]; !known {
		for old := range d.of {
			d.drop(old, death.Died)
		}
	}
	if d.of[p] == nil {
		d.of[p] = map[types.UID]workload.Death{}
	}
	d.of[p][pod] = death
}

// At are the deaths at a place that still count, the oldest first.
func (d *Deaths) At(owner types.UID, name string, now time.Time) (out []workload.Death) {
	d.mu.Lock()
	defer d.mu.Unlock()
	p := place{owner, name}
	d.drop(p, now)
	for _, death := range d.of[p] {
		out = append(out, death)
	}
	slices.SortFunc(out, func(a, b workload.Death) int { return a.Died.Compare(b.Died) })
	return out
}

// drop forgets what is too old at a place. The lock is held.
func (d *Deaths) drop(p place, now time.Time) {
	for uid, death := range d.of[p] {
		if now.Sub(death.Died) > forgotten {
			delete(d.of[p], uid)
		}
	}
	if len(d.of[p]) == 0 {
		delete(d.of, p)
	}
}

// Forget drops what is known of an owner that is gone.
func (d *Deaths) Forget(owner types.UID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for p := range d.of {
		if p.owner == owner {
			delete(d.of, p)
		}
	}
}
