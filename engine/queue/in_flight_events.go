package queue

import "github.com/berthproject/berth/engine/decision"

// inFlightEvents records the events that occur while pods are in flight, so that
// requeueing a pod can check them. On overflow only the event kinds are kept.
type inFlightEvents struct {
	pods  int
	count uint64 // of all events so far
	log   []decision.Delta
	last  [decision.NumEvents]uint64 // number of the last event of a kind
}

// maxEvents is the maximum number of events that are recorded with their objects.
const maxEvents = 256

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

// podPopped and podDone count the pods in flight.
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

// hint reports whether an event since e was popped may have undone its rejection. If not,
// added are further plugins that reject the pod on the nodes of these events.
func (f *inFlightEvents) hint(e *entry, hints QueueingHints, plugins decision.PluginSet) (queue bool, added decision.PluginSet) {
	recent := int(f.count - e.firstEvent)
	if recent > len(f.log) {
		var kinds decision.ClusterEvents
		for bit, at := range f.last {
			if at > e.firstEvent {
				kinds |= 1 << bit
			}
		}
		return kinds&hints.EventsToRegister(plugins) != 0, 0
	}
	for changed := true; changed; { // an added plugin may register for more events
		changed = false
		for i := len(f.log) - recent; i < len(f.log); i++ {
			d := &f.log[i]
			if hints.EventsToRegister(plugins|added)&d.Events == 0 {
				continue
			}
			hint, _, rejecting := hints.Hint(plugins|added, d)
			if hint != decision.QueueSkip {
				return true, 0
			}
			changed = changed || rejecting&^(plugins|added) != 0
			added |= rejecting
		}
	}
	return false, added
}
