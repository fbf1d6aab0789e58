package queue

import "github.com/berthproject/berth/engine/decision"

// inFlightEvents remembers the changes that happened while pods were being decided
// about, to hold them against their rejections. When there are too many, the kinds alone are
// remembered.
type inFlightEvents struct {
	pods  int
	count uint64 // counted for ever
	log   []decision.Delta
	last  [decision.NumEvents]uint64 // the number of the last change of a kind
}

// maxEvents is how many changes are remembered whole.
const maxEvents = 256

// record takes notice of a change.
func (f *inFlightEvents) record(d *decision.Delta) {
	if f.pods == 0 {
		return
	}
	f.count++
	for bit := range f.last {
		if d.Events&(1<<bit) != 0 {
			f.last[bit] = f.count
		}
	}
	if len(f.log) == maxEvents {
		n := copy(f.log, f.log[maxEvents/2:])
		clear(f.log[n:])
		f.log = f.log[:n]
	}
	f.log = append(f.log, *d)
}

// podPopped and landed count the pods that are being decided about.
func (f *inFlightEvents) podPopped(e *entry) {
	f.pods++
	e.inFlight, e.firstEvent = true, f.count
}

func (f *inFlightEvents) podDone(e *entry) {
	if !e.inFlight {
		return
	}
	e.inFlight = false
	if f.pods--; f.pods == 0 {
		clear(f.log)
		f.log = f.log[:0]
	}
}

// hint says whether a change since e was taken may have undone its rejection
// by the rules; if not, also is the rules that reject it where changes took place.
func (f *inFlightEvents) hint(e *entry, k QueueingHints, plugins decision.PluginSet) (queue bool, also decision.PluginSet) {
	missed := int(f.count - e.firstEvent)
	if missed > len(f.log) {
		var kinds decision.ClusterEvents
		for bit, at := range f.last {
			if at > e.firstEvent {
				kinds |= 1 << bit
			}
		}
		return kinds&k.EventsToRegister(plugins) != 0, 0
	}
	for again := true; again; { // what is found on the way may care for more
		again = false
		for i := len(f.log) - missed; i < len(f.log); i++ {
			d := &f.log[i]
			if k.EventsToRegister(plugins|also)&d.Events == 0 {
				continue
			}
			hint, _, more := k.Hint(plugins|also, d)
			if hint != decision.QueueSkip {
				return true, 0
			}
			again = again || more&^(plugins|also) != 0
			also |= more
		}
	}
	return false, also
}
