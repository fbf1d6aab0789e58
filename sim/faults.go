package sim

import (
	"encoding/binary"
	"time"

	"github.com/berthproject/berth/sim/store"
)

// Faults are the probabilities of random faults, from 0 to 1. A hash of the seed and of names decides
// which ones occur.
type Faults struct {
	Requests float64 // of requests of the scheduler and the controllers: refused, conflicting, lost or delayed
	Writes   float64 // of the agents' writes: lost and retried
	Delays   float64 // of watch events: delayed by up to MaxDelay
	Repeats  float64 // of watch events: delivered twice
	MaxDelay time.Duration
}

// Fault is how a request fails.
type Fault uint8

// The faults.
const (
	NoFault       Fault = iota
	Refuse              // the API server refuses the request
	Conflict            // the API server returns a conflict
	RequestLost         // the API server does not execute the request, which times out
	ResponseLost        // the API server executes the request, which times out
	Delayed             // the API server executes the request before or after its timeout, without a response
	NeverAnswered       // the API server executes the request without a response
	Partial             // the API server executes some writes of an operation; then its requests fail
	numFaults
)

var faultNames = [numFaults]string{"none", "refuse", "conflict", "requestlost", "responselost", "delayed", "unanswered", "partial"}

// deprecatedFaults are former names of faults.
var deprecatedFaults = map[string]Fault{"lost": RequestLost, "unheard": ResponseLost, "late": Delayed, "silent": NeverAnswered, "partly": Partial}

// String returns the name used in scenarios.
func (f Fault) String() string { return faultNames[f] }

// ParseFault returns the fault with a name, which may be a deprecated one.
func ParseFault(s string) (Fault, bool) {
	if f, ok := deprecatedFaults[s]; ok {
		return f, true
	}
	for f, name := range faultNames {
		if name == s {
			return Fault(f), true
		}
	}
	return NoFault, false
}

// FaultRule injects a fault into requests.
type FaultRule struct {
	Fault   Fault
	Request string // one of requestKinds; empty: any
	Pod     string // key of the object, in most requests a pod's namespace/name; empty: any
	Times   int    // number of requests that the rule still applies to
	After   int    // of Partial: number of writes executed; 0: by the seed
}

// FaultInjector decides which faults occur.
type FaultInjector struct {
	o        *Options
	rules    []*FaultRule
	counts   map[string]uint64 // number of hashes by name
	disabled bool
}

func newFaultInjector(o *Options) *FaultInjector {
	return &FaultInjector{o: o, counts: map[string]uint64{}}
}

// Add adds a fault rule.
func (f *FaultInjector) Add(r FaultRule) { f.rules = append(f.rules, &r) }

// Clear ends all random faults and rules.
func (f *FaultInjector) Clear() { f.disabled, f.rules = true, nil }

// Hash returns a number below 1<<32 that depends on the seed, the name, and how often the name
// was hashed.
func (f *FaultInjector) Hash(name string) uint32 {
	f.counts[name]++
	var b [16]byte
	binary.LittleEndian.PutUint64(b[:], f.o.Seed)
	binary.LittleEndian.PutUint64(b[8:], f.counts[name])
	x := uint64(14695981039346656037) // FNV-1a without an allocation
	for _, c := range b {
		x = (x ^ uint64(c)) * 1099511628211
	}
	for i := range len(name) {
		x = (x ^ uint64(name[i])) * 1099511628211
	}
	x = (x ^ x>>33) * 0xff51afd7ed558ccd // mix the last bytes into all bits
	x = (x ^ x>>33) * 0xc4ceb9fe1a85ec53
	return uint32(x >> 32)
}

// LosesWrite reports whether an agent's write of an object is lost.
func (f *FaultInjector) LosesWrite(object string) bool {
	return f.occurs(f.o.Faults.Writes, "write/"+object)
}

// occurs reports whether a fault with a probability occurs.
func (f *FaultInjector) occurs(probability float64, name string) bool {
	return probability > 0 && !f.disabled && float64(f.Hash(name)) < probability*(1<<32)
}

// OfRequest returns the fault of a request of a kind for an object, and FaultRule.After of the
// rule that caused it.
func (f *FaultInjector) OfRequest(kind, object string) (fault Fault, after int) {
	for _, r := range f.rules {
		if r.Times > 0 && (r.Request == "" || r.Request == kind) && (r.Pod == "" || r.Pod == object) {
			r.Times--
			return r.Fault, r.After
		}
	}
	name := "request/" + kind + "/" + object
	if !f.occurs(f.o.Faults.Requests, name) {
		return NoFault, 0
	}
	fault = Fault(1 + f.Hash(name)%uint32(numFaults-1))
	if fault == Delayed && kind != RequestBind || fault == Conflict && (kind == RequestUnschedulable || kind == RequestHold) {
		return RequestLost, 0
	}
	if fault == NeverAnswered && kind != RequestBind { // only binds have no timeout
		return ResponseLost, 0
	}
	return fault, 0
}

// RequestDelay returns the delay of a delayed request, below limit.
func (f *FaultInjector) RequestDelay(object string, limit time.Duration) time.Duration {
	return time.Duration(float64(f.Hash("late/"+object)) / (1 << 32) * float64(limit))
}

// watchDelay returns the extra delay of a watch event.
func (f *FaultInjector) watchDelay(reader string, c store.Change) time.Duration {
	if f.o.Faults.Delays == 0 || f.disabled {
		return 0
	}
	name := "delay/" + reader + "/" + string(c.Kind) + "/" + c.Object().GetName()
	if !f.occurs(f.o.Faults.Delays, name) {
		return 0
	}
	return time.Duration(float64(f.Hash(name)) / (1 << 32) * float64(f.o.Faults.MaxDelay))
}

// isDuplicated reports whether a watch event is delivered twice.
func (f *FaultInjector) isDuplicated(reader string, c store.Change) bool {
	if f.o.Faults.Repeats == 0 || f.disabled {
		return false
	}
	return f.occurs(f.o.Faults.Repeats, "repeat/"+reader+"/"+string(c.Kind)+"/"+c.Object().GetName())
}
