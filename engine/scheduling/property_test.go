package scheduling

import (
	"fmt"
	"testing"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
)

// TestNoPodLostOrBoundTwice simulates lost and late outcomes, a lagging watch, deletions and
// restarts, until every pod that fits is bound.
func TestNoPodLostOrBoundTwice(t *testing.T) {
	for seed := range int64(300) {
		if !t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			c := newSimulatedCluster(t, seed)
			for range 4 {
				c.addNode(1000 + 500*c.r.Int63n(4))
			}
			for range 150 {
				c.disturb()
				c.step()
			}
			c.settle()
		}) {
			return
		}
	}
}

// disturb changes the cluster at random.
func (c *simulatedCluster) disturb() {
	switch c.r.Intn(8) {
	case 0, 1, 2:
		k := specKey{cpu: 100 + 100*c.r.Int63n(5), priority: int32(c.r.Intn(c.priorities))}
		if c.volumes && c.r.Intn(4) == 0 {
			k.claim = "own"
		}
		c.addPod(k)
	case 3:
		if len(c.order) > 0 {
			c.removePod(c.order[c.r.Intn(len(c.order))])
		}
	case 4:
		if len(c.order) > 0 {
			if uid := c.order[c.r.Intn(len(c.order))]; c.pods[uid] != nil {
				c.change(uid, func(p *model.Pod) { p.Labels = model.Labels{{Key: "k", Value: "v"}} })
			}
		}
	case 5:
		if c.r.Intn(10) == 0 {
			c.restart()
		}
	case 6:
		if len(c.order) > 0 {
			if uid := c.order[c.r.Intn(len(c.order))]; c.pods[uid] != nil {
				c.change(uid, func(p *model.Pod) { p.Deleting = true })
			}
		}
	case 7:
		c.setBudget(model.Budget{Namespace: "ns", Name: "b", DisruptionsAllowed: c.r.Int31n(3), Disrupted: c.budget.Disrupted})
	}
}

// restart creates a machine from a list. Outcomes for the old machine are lost, but Binds in flight
// complete.
func (c *simulatedCluster) restart() {
	c.m, c.pendingOutcomes, c.pendingEvents = newMachine(), nil, nil
	n := len(c.nodes)
	sizes := c.nodes
	c.nodes = map[string]int64{}
	for i := range n {
		c.addNode(sizes[nodeName(i)])
	}
	for _, b := range c.lateBinds { // requests in flight end before the next leader starts
		c.applyBind(b.Bind)
	}
	c.lateBinds, c.pendingEvents = nil, c.pendingEvents[:n]
	c.setBudget(c.budget)
	c.nominated = map[string]string{}
	for _, uid := range c.order {
		if claim := c.claims[uid]; claim != nil {
			c.pendingEvents = append(c.pendingEvents, claim)
			if claim.Bound {
				c.pendingEvents = append(c.pendingEvents, volumeOf(claim))
			}
		}
		if p := c.pods[uid]; p != nil {
			c.reportPod(uid)
			if p.NominatedNodeName != "" {
				c.nominated[uid] = p.NominatedNodeName
			}
		}
	}
	effects, _ := c.m.Step(c.now, c.pendingEvents, 0) // no decisions before the list is complete
	c.pendingEvents = nil
	c.execute(effects)
}

func nodeName(i int) string { return string([]byte{'n', '0' + byte(i/10), '0' + byte(i%10)}) }

// settle waits until nothing is in flight. Then no pending pod fits or can preempt.
func (c *simulatedCluster) settle() {
	c.noFaults = true
	for range 800 {
		c.step()
	}
	if c.t.Failed() {
		return
	}
	f := firstFit{c.m.state}
	for _, uid := range c.order {
		p := c.pods[uid]
		observed := c.m.state.Pod(uid)
		if p == nil && observed == nil {
			continue
		}
		if p == nil || observed == nil || p.NodeName != observed.NodeName || p.NominatedNodeName != observed.NominatedNodeName || p.Deleting != observed.Deleting {
			c.t.Errorf("at the end, pod %s is %+v in the state, want %+v as in the API", uid, observed, p)
			continue
		}
		if p.NodeName != "" || p.Deleting {
			continue
		}
		var s decision.Summary
		if f.Decide(p, &s); s.Outcome == decision.Scheduled {
			c.t.Errorf("pod %s (cpu %d, priority %d) is pending in %q though it fits on %s", uid, p.Spec.Requests.MilliCPU, p.Spec.Priority, c.m.queue.PoolOf(uid), s.Choice)
		} else if q := f.Preempt(p, &s); q.Outcome != decision.PreemptionNoCandidates {
			c.t.Errorf("pod %s (cpu %d, priority %d) is pending in %q though it could preempt on %q (%d)", uid, p.Spec.Requests.MilliCPU, p.Spec.Priority, c.m.queue.PoolOf(uid), q.Node, q.Outcome)
		}
	}
	if n := len(c.m.nominations) + len(c.m.nominationsByEffect) + len(c.m.markedVictims) + len(c.m.volumeBinds); n > 0 {
		c.t.Errorf("at the end, %d nominations, %d in flight, %d victims and %d volume binds remain, want none", len(c.m.nominations), len(c.m.nominationsByEffect), len(c.m.markedVictims), len(c.m.volumeBinds))
	}
	if n := len(c.m.reportsByEffect); n > len(c.pendingOutcomes) {
		c.t.Errorf("%d reports are in flight, want at most %d, the number of pending outcomes", n, len(c.pendingOutcomes))
	}
	if n := len(c.m.reports); n > len(c.m.reportsByEffect)+len(c.m.reportRetries) {
		c.t.Errorf("%d reports, want at most %d in flight and %d to retry", n, len(c.m.reportsByEffect), len(c.m.reportRetries))
	}
	if d := c.m.Depths(); d.InFlight != 0 || len(c.m.attempts) != 0 {
		c.t.Errorf("at the end, %d pods are in flight and %d attempts remain, want none", d.InFlight, len(c.m.attempts))
	}
}

// TestSameEventsSameEffects checks that two runs of a simulation bind the same pods to the same nodes.
func TestSameEventsSameEffects(t *testing.T) {
	for seed := range int64(20) {
		var binds [2]map[string]string
		for i := range binds {
			c := newSimulatedCluster(t, seed)
			c.addNode(3000)
			c.addNode(2000)
			for range 200 {
				c.disturb()
				c.step()
			}
			binds[i] = c.binds
		}
		if len(binds[0]) != len(binds[1]) {
			t.Fatalf("seed %d: %d binds in the first run and %d in the second, want equal numbers", seed, len(binds[0]), len(binds[1]))
		}
		for uid, node := range binds[0] {
			if binds[1][uid] != node {
				t.Fatalf("seed %d: pod %s was bound to %s in the first run and to %s in the second", seed, uid, node, binds[1][uid])
			}
		}
	}
}
