package cluster

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

// Faults are the probabilities of random faults, from 0 to 1. Which ones occur is a hash of
// the seed and of names.
type Faults struct {
	Requests float64 // of the scheduler's requests: refused, conflicting, lost or delayed
	Writes   float64 // of the agents' writes: lost and retried
	Delays   float64 // of watch events: delayed by up to MaxDelay
	Repeats  float64 // of watch events: delivered twice
	MaxDelay time.Duration
}

// Fault is how a request fails.
type Fault uint8

// The faults. RequestLost: not executed, times out. ResponseLost: executed, times out.
// Delayed: executed long after the timeout. NeverAnswered: executed, no response at all.
// Partial: some writes are executed, times out.
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

var faultNames = [numFaults]string{"none", "refuse", "conflict", "requestlost", "responselost", "delayed", "unanswered", "partial"}

// deprecatedFaults are former names of faults.
var deprecatedFaults = map[string]Fault{"lost": RequestLost, "unheard": ResponseLost, "late": Delayed, "silent": NeverAnswered, "partly": Partial}

// String returns the name used in scenarios.
func (e Fault) String() string { return faultNames[e] }

// ParseFault returns the fault with a name.
func ParseFault(s string) (Fault, bool) {
	if f, ok := deprecatedFaults[s]; ok {
		return f, true
	}
	for e, name := range faultNames {
		if name == s {
			return Fault(e), true
		}
	}
	return NoFault, false
}

// FaultRule injects a fault into requests.
type FaultRule struct {
	Fault   Fault
	Request string // bind, reject, hold, look, preempt, unnominate, prepare; empty: any
	Pod     string // namespace/name; empty: any
	Times   int    // number of requests
	After   int    // of Partial: number of writes executed; 0: about half of them, or by the seed
}

// Errors of injected faults.
var (
	errScenario = errors.New("injected conflict")
	errNoAnswer = errors.New("no answer in time")
)

// isInjectedConflict reports whether a conflict was injected.
func isInjectedConflict(err error) bool {
	return apierrors.IsConflict(err) && strings.Contains(err.Error(), errScenario.Error())
}

type faults struct {
	w      *Cluster
	rules  []*FaultRule
	counts map[string]uint64 // number of hashes by name
	off    bool
	after  int // of the last rule that applied
}

func newFaults(w *Cluster) *faults { return &faults{w: w, counts: map[string]uint64{}} }

// InjectFault adds a fault rule.
func (w *Cluster) InjectFault(r FaultRule) { w.faults.rules = append(w.faults.rules, &r) }

// ClearFaults ends all random faults and rules, restarts stopped agents, reconnects
// partitioned nodes, and stops replacing annotated pods.
func (w *Cluster) ClearFaults() {
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

// hash returns a number below 1<<32 that depends on the seed, the name, and how often the name
// was hashed.
func (f *faults) hash(name string) uint32 {
	f.counts[name]++
	h := fnv.New64a()
	var b [16]byte
	binary.LittleEndian.PutUint64(b[:], f.w.o.Seed)
	binary.LittleEndian.PutUint64(b[8:], f.counts[name])
	_, _ = h.Write(b[:])
	_, _ = h.Write([]byte(name))
	x := h.Sum64()
	x = (x ^ x>>33) * 0xff51afd7ed558ccd // mix the last bytes into all bits
	x = (x ^ x>>33) * 0xc4ceb9fe1a85ec53
	return uint32(x >> 32)
}

// occurs reports whether an event of a probability occurs.
func (f *faults) occurs(share float64, name string) bool {
	return share > 0 && !f.off && float64(f.hash(name)) < share*(1<<32)
}

// faultOf returns the fault of a request about a pod.
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
	if e == NeverAnswered && effect != "bind" { // only binds have no timeout
		return ResponseLost
	}
	return e
}

// requestDelay returns the delay of a delayed request, below limit.
func (f *faults) requestDelay(pod string, limit time.Duration) time.Duration {
	return time.Duration(float64(f.hash("late/"+pod)) / (1 << 32) * float64(limit))
}

// watchDelay returns the extra delay of a watch event.
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

// RequestKind returns the name of an effect in scenarios and timelines.
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
