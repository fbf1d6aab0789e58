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
		NeedsExtenders:           func(p *model.Pod) bool { return p.Spec.Requests.MilliCPU == 300 },
		NeedsPreemptionExtenders: func(p *model.Pod) bool { return p.Spec.Requests.MilliCPU == 400 }}}
	return New(cfg)
}

// simulatedCluster is an API server for a machine. It executes Binds, loses outcomes and reports
// changes late.
type simulatedCluster struct {
	t               *testing.T
	r               *rand.Rand
	m               *Machine
	now             time.Time
	pods            map[string]*model.Pod // pods in the API, by UID
	order           []string              // UIDs in a fixed order
	nodes           map[string]int64      // millicores, by name
	pendingEvents   []Event               // undelivered watch events
	pendingOutcomes []Outcome             // undelivered outcomes
	lateBinds       []lateBind            // unanswered Binds that may still succeed
	binds           map[string]string     // successful Binds, by UID

	nominated map[string]string // nominations in the machine, by UID
	budget    model.Budget      // of all pods
	claims    map[string]*model.PersistentVolumeClaim
	noFaults  bool

	priorities int  // number of different priorities
	volumes    bool // some pods have claims
}

// lateBind is a Bind that may succeed after its outcome was lost.
type lateBind struct {
	Bind
	sent time.Time
}

func newSimulatedCluster(t *testing.T, seed int64) *simulatedCluster {
	return &simulatedCluster{t: t, priorities: 1 + int(seed%3), volumes: seed%2 == 1, r: rand.New(rand.NewSource(seed)), m: newMachine(), now: time.Unix(1000, 0),
		pods: map[string]*model.Pod{}, nodes: map[string]int64{}, binds: map[string]string{}, nominated: map[string]string{},
		budget: model.Budget{Namespace: "ns", Name: "b", DisruptionsAllowed: 1}, claims: map[string]*model.PersistentVolumeClaim{}}
}

// specKey identifies a specification; equal keys share one.
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

func (c *simulatedCluster) addNode(cpu int64) {
	name := fmt.Sprintf("n%02d", len(c.nodes))
	c.nodes[name] = cpu
	c.pendingEvents = append(c.pendingEvents, &model.Node{Name: name, UID: name, Allocatable: model.Resources{MilliCPU: cpu}, AllocatablePods: 110})
}

func (c *simulatedCluster) addPod(k specKey) {
	uid := fmt.Sprintf("u%04d", len(c.order))
	c.order = append(c.order, uid)
	if k.claim != "" {
		k.claim = "c" + uid
		c.claims[uid] = &model.PersistentVolumeClaim{Namespace: "ns", Name: k.claim, UID: k.claim}
		c.pendingEvents = append(c.pendingEvents, c.claims[uid])
	}
	c.pods[uid] = &model.Pod{Namespace: "ns", Name: uid, UID: uid, Spec: specOf(k)}
	c.reportPod(uid)
}

func (c *simulatedCluster) reportPod(uid string) {
	c.pendingEvents = append(c.pendingEvents, c.pods[uid])
}

func (c *simulatedCluster) change(uid string, f func(*model.Pod)) {
	p := *c.pods[uid]
	f(&p)
	c.pods[uid] = &p
	c.reportPod(uid)
}

func (c *simulatedCluster) removePod(uid string) {
	if c.pods[uid] != nil {
		delete(c.pods, uid)
		delete(c.nominated, uid)
		c.pendingEvents = append(c.pendingEvents, Remove{&model.Pod{UID: uid}})
	}
}

// applyBind binds a pod unless it is already bound.
func (c *simulatedCluster) applyBind(b Bind) Result {
	p := c.pods[b.Pod.UID]
	switch {
	case p == nil:
		return Refused
	case p.NodeName == b.Node:
		return Done
	case p.NodeName != "" || p.Deleting:
		return Conflict
	}
	if node, ok := c.binds[p.UID]; ok {
		c.t.Fatalf("pod %s was bound to %s and now to %s", p.UID, node, b.Node)
	}
	c.binds[p.UID] = b.Node
	delete(c.nominated, p.UID)
	c.change(p.UID, func(p *model.Pod) { p.NodeName, p.NominatedNodeName = b.Node, "" })
	return Done
}

// execute executes effects and adds their outcomes to pendingOutcomes.
func (c *simulatedCluster) execute(effects []Effect) {
	for _, e := range effects {
		switch e := e.(type) {
		case Bind:
			if countAssumingEffects(effects) == 1 { // otherwise a later pod may have a higher priority
				c.checkReservedResources(e)
			}
			delete(c.nominated, e.Pod.UID) // the pod fits without preemption
			c.executeBind(e)
		case Preempt:
			c.executePreempt(e)
		case CallExtenders:
			c.pendingOutcomes = append(c.pendingOutcomes, c.replyTo(e))
		case CallPreemptionExtenders:
			c.pendingOutcomes = append(c.pendingOutcomes, c.replyToPreemption(e))
		case ClearNomination:
			delete(c.nominated, e.Pod.UID)
			c.pendingOutcomes = append(c.pendingOutcomes, Outcome{ID: e.ID, Result: c.clearNomination(e)})
		case BindVolumes:
			delete(c.nominated, e.Pod.UID)
			c.executeBindVolumes(e)
		case RefreshPod:
			o := Outcome{ID: e.ID, Result: Done, Pod: c.pods[e.Pod.UID]}
			if c.fails(4) {
				o = Outcome{ID: e.ID, Result: Unknown}
			}
			c.pendingOutcomes = append(c.pendingOutcomes, o)
		default:
			c.pendingOutcomes = append(c.pendingOutcomes, Outcome{ID: e.EffectID(), Result: Result(c.r.Intn(4))})
		}
	}
}

func (c *simulatedCluster) executeBind(b Bind) {
	choice := c.r.Intn(10)
	if c.noFaults {
		choice = 9
	}
	switch choice {
	case 0: // the request was lost
		c.pendingOutcomes = append(c.pendingOutcomes, Outcome{ID: b.ID, Result: Unknown})
	case 1: // executed now or later, without an outcome
		c.lateBinds = append(c.lateBinds, lateBind{b, c.now})
		c.pendingOutcomes = append(c.pendingOutcomes, Outcome{ID: b.ID, Result: Unknown})
	case 2: // executed, without an outcome
		c.applyBind(b)
	case 3:
		c.pendingOutcomes = append(c.pendingOutcomes, Outcome{ID: b.ID, Result: Refused, Reason: "quota"})
	default:
		c.pendingOutcomes = append(c.pendingOutcomes, Outcome{ID: b.ID, Result: c.applyBind(b)})
	}
}

// step delivers some pending messages and steps the machine.
func (c *simulatedCluster) step() {
	if len(c.lateBinds) > 0 && c.r.Intn(3) == 0 {
		if c.now.Sub(c.lateBinds[0].sent) < c.m.cfg.BindTimeout { // the API server times out, too
			c.applyBind(c.lateBinds[0].Bind)
		}
		c.lateBinds = c.lateBinds[1:]
	}
	var events []Event
	n := c.r.Intn(len(c.pendingEvents) + 1)
	events, c.pendingEvents = append(events, c.pendingEvents[:n]...), c.pendingEvents[n:]
	for len(c.pendingOutcomes) > 0 && c.r.Intn(4) > 0 {
		i := c.r.Intn(len(c.pendingOutcomes))
		events = append(events, c.pendingOutcomes[i])
		c.pendingOutcomes = append(c.pendingOutcomes[:i], c.pendingOutcomes[i+1:]...)
	}
	c.completeDeletions()
	effects, wake := c.m.Step(c.now, events, c.r.Intn(5))
	c.execute(effects)
	c.check()
	if len(c.pendingEvents)+len(c.pendingOutcomes) == 0 && wake.After(c.now) {
		c.now = wake
	} else {
		c.now = c.now.Add(time.Duration(c.r.Intn(2000)) * time.Millisecond)
	}
}

// check checks that waiting pods are queued or attempted, that pods are assumed during their attempts, and that no
// node is overcommitted.
func (c *simulatedCluster) check() {
	used := map[string]int64{}
	for _, uid := range c.order {
		if p := c.pods[uid]; p != nil {
			used[p.NodeName] += p.Spec.Requests.MilliCPU
		}
		observed := c.m.state.Pod(uid)
		if observed == nil || observed.Finished() || (observed.NodeName != "" && !c.m.state.Assumed(uid)) {
			continue
		}
		a, attempted := c.m.attempts[uid]
		pool := c.m.queue.PoolOf(uid)
		if !attempted && (pool == queue.NotQueued || pool == queue.InFlight) && !observed.Deleting {
			c.t.Fatalf("pod %s has no attempt and is in pool %q, want an attempt or a queued pod", uid, pool)
		}
		placed := attempted && a.stage != callingExtenders
		if assumed := c.m.state.Assumed(uid); assumed != placed {
			c.t.Fatalf("pod %s: assumed %v, want %v", uid, assumed, placed)
		}
	}
	for name, cpu := range c.nodes {
		if used[name] > cpu {
			c.t.Fatalf("pods on node %s use %d millicores, want at most %d", name, used[name], cpu)
		}
	}
}
