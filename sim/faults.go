package sim

import (
	"encoding/binary"
	"errors"
	"hash/fnv"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/berthproject/berth/engine/scheduling"
	"github.com/berthproject/berth/sim/store"
)

// Faults are how often things go wrong, each a share of 1. Which ones do is a
// hash of the seed and of names.
type Faults struct {
	Requests float64 // of the scheduler's requests: refused, conflicting, unanswered, late
	Writes   float64 // of the agents' writes: lost, and tried again
	Delays   float64 // of watched changes: late by up to MaxDelay
	Repeats  float64 // of watched changes: delivered twice
	MaxDelay time.Duration
}

// Fault is how a request goes wrong, or not.
type Fault uint8

// The endings. Lost is not done and not answered in time; Unheard is done and not
// answered in time; Late is done long after the time-out; Silent is done and nothing
// ever says anything; Partly does some of its writes and is not answered.
const (
	NoFault Fault = iota
	Refuse
	Conflict
	RequestLost
	ResponseLost
	Delayed
	NeverAnswered
	Partial
	numFaults
)

var faultNames = [numFaults]string{"fine", "refuse", "conflict", "lost", "unheard", "late", "silent", "partly"}

// String returns the ending's word in scenarios.
func (e Fault) String() string { return faultNames[e] }

// ParseFault finds an ending by its word.
func ParseFault(s string) (Fault, bool) {
	for e, name := range faultNames {
		if name == s {
			return Fault(e), true
		}
	}
	return NoFault, false
}

// FaultRule makes requests go wrong on purpose.
type FaultRule struct {
	Fault   Fault
	Request string // bind, reject, hold, look, preempt, unnominate, prepare; empty: any
	Pod     string // namespace/name; empty: any
	Times   int    // how many
	After   int    // of Partly: how many writes are done; 0: about half of them, or as the seed has it
}

// What a request that goes wrong is answered, beside what the API says.
var (
	errScenario = errors.New("a conflict by the scenario")
	errNoAnswer = errors.New("no answer in time")
)

// isInjectedConflict reports whether a conflict is the scenario's, and not because another object has the name.
func isInjectedConflict(err error) bool {
	return apierrors.IsConflict(err) && strings.Contains(err.Error(), errScenario.Error())
}

type faults struct {
	w      *World
	rules  []*FaultRule
	counts map[string]uint64 // of what was hashed, by name
	off    bool
	after  int // of the rule that applied last
}

func newFaults(w *World) *faults { return &faults{w: w, counts: map[string]uint64{}} }

// InjectFault has requests go wrong by a rule.
func (w *World) InjectFault(r FaultRule) { w.faults.rules = append(w.faults.rules, &r) }

// ClearFaults ends all faults, random ones and rules; agents that are dead start, those that are cut off are joined again, and nothing
// is replaced any longer.
func (w *World) ClearFaults() {
	w.faults.off, w.faults.rules = true, nil
	w.replacer.disabled = true
	w.agents.reports = map[string]map[corev1.NodeConditionType]corev1.ConditionStatus{}
	for _, o := range slices.Clone(w.api.List(store.Nodes)) {
		w.agents.postStatus(o.GetName(), w.o.Latency)
	}
	for _, node := range sortedKeys(w.agents.stopped) {
		w.StartAgent(node)
	}
	for _, node := range sortedKeys(w.agents.partitioned) {
		w.ReconnectNode(node)
	}
}

// hash returns a number below 1<<32 that depends on the seed, the name, and how often
// that name was asked for.
func (f *faults) hash(name string) uint32 {
	f.counts[name]++
	h := fnv.New64a()
	var b [16]byte
	binary.LittleEndian.PutUint64(b[:], f.w.o.Seed)
	binary.LittleEndian.PutUint64(b[8:], f.counts[name])
	_, _ = h.Write(b[:])
	_, _ = h.Write([]byte(name))
	x := h.Sum64()
	x = (x ^ x>>33) * 0xff51afd7ed558ccd // the last bytes must reach all bits
	x = (x ^ x>>33) * 0xc4ceb9fe1a85ec53
	return uint32(x >> 32)
}

// occurs reports whether something of the given share happens to the name.
func (f *faults) occurs(share float64, name string) bool {
	return share > 0 && !f.off && float64(f.hash(name)) < share*(1<<32)
}

// faultOf returns how a request about a pod ends.
func (f *faults) faultOf(effect, pod string) Fault {
	f.after = 0
	for _, r := range f.rules {
		if r.Times > 0 && (r.Request == "" || r.Request == effect) && (r.Pod == "" || r.Pod == pod) {
			r.Times--
			f.after = r.After
			return r.Fault
		}
	}
	name := "request/" + effect + "/" + pod
	if !f.occurs(f.w.o.Faults.Requests, name) {
		return NoFault
	}
	e := Fault(1 + f.hash(name)%uint32(numFaults-1))
	if e == Delayed && effect != "bind" || e == Conflict && (effect == "reject" || effect == "hold") {
		return RequestLost
	}
	if e == NeverAnswered && effect != "bind" { // the shell words every other time-out
		return ResponseLost
	}
	return e
}

// requestDelay returns when after its sending a late request is done: before the machine
// may give it up.
func (f *faults) requestDelay(pod string, limit time.Duration) time.Duration {
	return time.Duration(float64(f.hash("late/"+pod)) / (1 << 32) * float64(limit))
}

// watchDelay returns what a change is late for a reader, beyond its lag.
func (f *faults) watchDelay(reader string, c store.Change) time.Duration {
	if f.w.o.Faults.Delays == 0 || f.off {
		return 0
	}
	name := "delay/" + reader + "/" + string(c.Kind) + "/" + c.Object().GetName()
	if !f.occurs(f.w.o.Faults.Delays, name) {
		return 0
	}
	return time.Duration(float64(f.hash(name)) / (1 << 32) * float64(f.w.o.Faults.MaxDelay))
}

func (f *faults) isDuplicated(reader string, c store.Change) bool {
	if f.w.o.Faults.Repeats == 0 || f.off {
		return false
	}
	return f.occurs(f.w.o.Faults.Repeats, "repeat/"+reader+"/"+string(c.Kind)+"/"+c.Object().GetName())
}

// RequestKind returns the effect's word in scenarios and timelines.
func RequestKind(e scheduling.Effect) string {
	switch e.(type) {
	case scheduling.Bind:
		return "bind"
	case scheduling.ReportUnschedulable:
		return "reject"
	case scheduling.ReportGated:
		return "hold"
	case scheduling.RefreshPod:
		return "look"
	case scheduling.Preempt:
		return "preempt"
	case scheduling.ClearNomination:
		return "unnominate"
	case scheduling.BindVolumes:
		return "prepare"
	case scheduling.ReportBound:
		return "bound"
	}
	return "unknown"
}
