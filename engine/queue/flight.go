package queue

import "github.com/berthproject/berth/engine/decision"

// flight remembers the changes that happened while pods were being decided
// about, to hold them against their rejections. When there are too many, the kinds alone are
// remembered.
type flight struct {
	undecided int
	changes   uint64 // counted for ever
	log       []decision.Delta
	last      [decision.NumChanges]uint64 // the number of the last change of a kind
}

// manyChanges is how many changes are remembered whole.
const manyChanges = 256

// hear takes notice of a change.
func (f *flight) hear(d *decision.Delta) {
	if f.undecided == 0 {
		return
	}
	f.changes++
	for bit := range f.last {
		if d.Kinds&(1<<bit) != 0 {
			f.last[bit] = f.changes
		}
	}
	if len(f.log) == manyChanges {
		n := copy(f.log, f.log[manyChanges/2:])
		clear(f.log[n:])
		f.log = f.log[:n]
	}
	f.log = append(f.log, *d)
}

// took and landed count the pods that are being decided about.
func (f *flight) took(e *entry) {
	f.undecided++
	e.undecided, e.start = true, f.changes
}

func (f *flight) landed(e *entry) {
	if !e.undecided {
		return
	}
	e.undecided = false
	if f.undecided--; f.undecided == 0 {
		clear(f.log)
		f.log = f.log[:0]
	}
}

// undone says whether a change since e was taken may have undone its rejection
// by the rules; if not, also is the rules that reject it where changes took place.
func (f *flight) undone(e *entry, k Kind, rules decision.RuleSet) (undone bool, also decision.RuleSet) {
	missed := int(f.changes - e.start)
	if missed > len(f.log) {
		var kinds decision.Change
		for bit, at := range f.last {
			if at > e.start {
				kinds |= 1 << bit
			}
		}
		return kinds&k.Cares(rules) != 0, 0
	}
	for again := true; again; { // what is found on the way may care for more
		again = false
		for i := len(f.log) - missed; i < len(f.log); i++ {
			d := &f.log[i]
			if k.Cares(rules|also)&d.Kinds == 0 {
				continue
			}
			help, _, more := k.Helps(rules|also, d)
			if help != decision.Helpless {
				return true, 0
			}
			again = again || more&^(rules|also) != 0
			also |= more
		}
	}
	return false, also
}
