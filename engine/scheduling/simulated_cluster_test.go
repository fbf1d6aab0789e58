package scheduling

import (
	"fmt"
	"math/rand"
	"testing"
	"time"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/queue"
	"github.com/berthproject/berth/engine/scheduling/profiles"
)

func newMachine() *Machine {
	cfg := DefaultConfig()
	// Extenders are interested in pods of some sizes.
	cfg.Profiles = []profiles.Profile{{Name: "default-scheduler", NewPlacer: func(s *cluster.State) profiles.Placer { return firstFit{s} },
		WantsExtenders:           func(p *model.Pod) bool { return p.Spec.Requests.MilliCPU == 300 },
		WantsPreemptionExtenders: func(p *model.Pod) bool { return p.Spec.Requests.MilliCPU == 400 }}}
	return New(cfg)
}

// simulatedCluster is the API server as the machine sees it: it grants Binds, loses outcomes and reports
// changes late.
type simulatedCluster struct {
	t     *testing.T
	r     *rand.Rand
	m     *Machine
	now   time.Time
	pods  map[string]*model.Pod // pods in the API, by uid
	order []string              // uids in a fixed order
	nodes map[string]int64      // cpu
	lag   []Event               // undelivered watch events
	due   []Outcome             // undelivered outcomes
	late  []lateBind            // unanswered Binds that may still succeed
	binds map[string]string     // successful Binds, by uid

	nominated map[string]string // nominations in the machine, by uid
	budget    model.Budget      // of all pods
	claims    map[string]*model.PersistentVolumeClaim
	noFaults  bool // no more faults

	priorities int
	volumes    bool // some pods have claims
}

type lateBind struct {
	Bind
	sent time.Time
}

func newSimulatedCluster(t *testing.T, seed int64) *simulatedCluster {
	return &simulatedCluster{t: t, priorities: 1 + int(seed%3), volumes: seed%2 == 1, r: rand.New(rand.NewSource(seed)), m: newMachine(), now: time.Unix(1000, 0),
		pods: map[string]*model.Pod{}, nodes: map[string]int64{}, binds: map[string]string{}, nominated: map[string]string{},
		budget: model.Budget{Namespace: "ns", Name: "b", DisruptionsAllowed: 1}, claims: map[string]*model.PersistentVolumeClaim{}}
}

type specKey struct {
	cpu      int64
	priority int32
	claim    string
}

var specs = map[specKey]*model.PodSpec{}

func spec(cpu int64) *model.PodSpec { return specOf(specKey{cpu: cpu}) }

func specOf(k specKey) *model.PodSpec {
	if specs[k] == nil {
		s := &model.PodSpec{SchedulerName: "default-scheduler", Priority: k.priority, Requests: model.Resources{MilliCPU: k.cpu}}
		if k.claim != "" {
			s.Claims = []model.PodClaim{{Volume: "v", Claim: k.claim}}
		}
		specs[k] = s
	}
	return specs[k]
}

func (w *simulatedCluster) addNode(cpu int64) {
	name := fmt.Sprintf("n%02d", len(w.nodes))
	w.nodes[name] = cpu
	w.lag = append(w.lag, &model.Node{Name: name, UID: name, Allocatable: model.Resources{MilliCPU: cpu}, AllocatablePods: 110})
}

func (w *simulatedCluster) addPod(k specKey) {
	uid := fmt.Sprintf("u%04d", len(w.order))
	w.order = append(w.order, uid)
	if k.claim != "" {
		k.claim = "c" + uid
		w.claims[uid] = &model.PersistentVolumeClaim{Namespace: "ns", Name: k.claim, UID: k.claim}
		w.lag = append(w.lag, w.claims[uid])
	}
	w.pods[uid] = &model.Pod{Namespace: "ns", Name: uid, UID: uid, Spec: specOf(k)}
	w.reportPod(uid)
}

func (w *simulatedCluster) reportPod(uid string) { w.lag = append(w.lag, w.pods[uid]) }

func (w *simulatedCluster) change(uid string, f func(*model.Pod)) {
	p := *w.pods[uid]
	f(&p)
	w.pods[uid] = &p
	w.reportPod(uid)
}

func (w *simulatedCluster) removePod(uid string) {
	if w.pods[uid] != nil {
		delete(w.pods, uid)
		delete(w.nominated, uid)
		w.lag = append(w.lag, Remove{&model.Pod{UID: uid}})
	}
}

// grant applies the API's rule that a pod is bound once.
func (w *simulatedCluster) grant(b Bind) Result {
	p := w.pods[b.Pod.UID]
	switch {
	case p == nil:
		return Refused
	case p.NodeName == b.Node:
		return Done
	case p.NodeName != "" || p.Deleting:
		return Conflict
	}
	if node, ok := w.binds[p.UID]; ok {
		w.t.Fatalf("pod %s was bound to %s and now to %s", p.UID, node, b.Node)
	}
	w.binds[p.UID] = b.Node
	delete(w.nominated, p.UID)
	w.change(p.UID, func(p *model.Pod) { p.NodeName, p.NominatedNodeName = b.Node, "" })
	return Done
}

func (w *simulatedCluster) carryOut(effects []Effect) {
	for _, e := range effects {
		switch e := e.(type) {
		case Bind:
			if countAssumingEffects(effects) == 1 { // otherwise the other pods came later, perhaps with higher priority
				w.checkReservedResources(e)
			}
			delete(w.nominated, e.Pod.UID) // it fits now
			w.carryOutBind(e)
		case Preempt:
			w.carryOutPreempt(e)
		case CallExtenders:
			w.due = append(w.due, w.answer(e))
		case CallPreemptionExtenders:
			w.due = append(w.due, w.answerVictims(e))
		case ClearNomination:
			delete(w.nominated, e.Pod.UID)
			w.due = append(w.due, Outcome{ID: e.ID, Result: w.unnominate(e)})
		case BindVolumes:
			delete(w.nominated, e.Pod.UID)
			w.carryOutPrepare(e)
		case RefreshPod:
			o := Outcome{ID: e.ID, Result: Done, Pod: w.pods[e.Pod.UID]}
			if w.fails(4) {
				o = Outcome{ID: e.ID, Result: Unknown}
			}
			w.due = append(w.due, o)
		default:
			w.due = append(w.due, Outcome{ID: e.EffectID(), Result: Result(w.r.Intn(4))})
		}
	}
}

func (w *simulatedCluster) carryOutBind(b Bind) {
	choice := w.r.Intn(10)
	if w.noFaults {
		choice = 9
	}
	switch choice {
	case 0: // the request was lost
		w.due = append(w.due, Outcome{ID: b.ID, Result: Unknown})
	case 1: // granted now or later, the outcome is lost
		w.late = append(w.late, lateBind{b, w.now})
		w.due = append(w.due, Outcome{ID: b.ID, Result: Unknown})
	case 2: // granted, without an outcome
		w.grant(b)
	case 3:
		w.due = append(w.due, Outcome{ID: b.ID, Result: Refused, Reason: "quota"})
	default:
		w.due = append(w.due, Outcome{ID: b.ID, Result: w.grant(b)})
	}
}

// step delivers some pending messages and steps the machine.
func (w *simulatedCluster) step() {
	if len(w.late) > 0 && w.r.Intn(3) == 0 {
		if w.now.Sub(w.late[0].sent) < w.m.cfg.BindTimeout { // the API server times out, too
			w.grant(w.late[0].Bind)
		}
		w.late = w.late[1:]
	}
	var events []Event
	n := w.r.Intn(len(w.lag) + 1)
	events, w.lag = append(events, w.lag[:n]...), w.lag[n:]
	for len(w.due) > 0 && w.r.Intn(4) > 0 {
		i := w.r.Intn(len(w.due))
		events = append(events, w.due[i])
		w.due = append(w.due[:i], w.due[i+1:]...)
	}
	w.completeDeletions()
	effects, wake := w.m.Step(w.now, events, w.r.Intn(5))
	w.carryOut(effects)
	w.check()
	if len(w.lag)+len(w.due) == 0 && wake.After(w.now) {
		w.now = wake
	} else {
		w.now = w.now.Add(time.Duration(w.r.Intn(2000)) * time.Millisecond)
	}
}

// check checks the invariants.
func (w *simulatedCluster) check() {
	used := map[string]int64{}
	for _, uid := range w.order {
		if p := w.pods[uid]; p != nil {
			used[p.NodeName] += p.Spec.Requests.MilliCPU
		}
		seen := w.m.state.Pod(uid)
		if seen == nil || seen.Finished() || (seen.NodeName != "" && !w.m.state.Assumed(uid)) {
			continue
		}
		a, attempted := w.m.attempts[uid]
		pool := w.m.queue.PoolOf(uid)
		if !attempted && (pool == queue.NotQueued || pool == queue.InFlight) && !seen.Deleting {
			w.t.Fatalf("pod %s is lost: no attempt, in pool %q", uid, pool)
		}
		if attempted = attempted && a.stage != callingExtenders; attempted != w.m.state.Assumed(uid) {
			w.t.Fatalf("pod %s: attempt %v, assumed %v", uid, attempted, !attempted)
		}
	}
	for name, cpu := range w.nodes {
		if used[name] > cpu {
			w.t.Fatalf("node %s has %d used of %d", name, used[name], cpu)
		}
	}
}
