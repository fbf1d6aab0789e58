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
			w := newSimulatedCluster(t, seed)
			for range 4 {
				w.addNode(1000 + 500*w.r.Int63n(4))
			}
			for range 150 {
				w.disturb()
				w.step()
			}
			w.settle()
		}) {
			return
		}
	}
}

// disturb changes the cluster at random.
func (w *simulatedCluster) disturb() {
	switch w.r.Intn(8) {
	case 0, 1, 2:
		k := specKey{cpu: 100 + 100*w.r.Int63n(5), priority: int32(w.r.Intn(w.priorities))}
		if w.volumes && w.r.Intn(4) == 0 {
			k.claim = "own"
		}
		w.addPod(k)
	case 3:
		if len(w.order) > 0 {
			w.removePod(w.order[w.r.Intn(len(w.order))])
		}
	case 4:
		if len(w.order) > 0 {
			if uid := w.order[w.r.Intn(len(w.order))]; w.pods[uid] != nil {
				w.change(uid, func(p *model.Pod) { p.Labels = model.Labels{{Key: "k", Value: "v"}} })
			}
		}
	case 5:
		if w.r.Intn(10) == 0 {
			w.restart()
		}
	case 6:
		if len(w.order) > 0 {
			if uid := w.order[w.r.Intn(len(w.order))]; w.pods[uid] != nil {
				w.change(uid, func(p *model.Pod) { p.Deleting = true })
			}
		}
	case 7:
		w.setBudget(model.Budget{Namespace: "ns", Name: "b", DisruptionsAllowed: w.r.Int31n(3), Disrupted: w.budget.Disrupted})
	}
}

// restart creates a machine from a list. Outcomes for the old machine are lost, Binds in flight are
// not.
func (w *simulatedCluster) restart() {
	w.m, w.due, w.lag = newMachine(), nil, nil
	n := len(w.nodes)
	sizes := w.nodes
	w.nodes = map[string]int64{}
	for i := range n {
		w.addNode(sizes[nodeName(i)])
	}
	for _, b := range w.late { // requests in flight end before the next leader starts
		w.grant(b.Bind)
	}
	w.late, w.lag = nil, w.lag[:n]
	w.setBudget(w.budget)
	w.nominated = map[string]string{}
	for _, uid := range w.order {
		if c := w.claims[uid]; c != nil {
			w.lag = append(w.lag, c)
			if c.Bound {
				w.lag = append(w.lag, volumeOf(c))
			}
		}
		if p := w.pods[uid]; p != nil {
			w.reportPod(uid)
			if p.NominatedNodeName != "" {
				w.nominated[uid] = p.NominatedNodeName
			}
		}
	}
	effects, _ := w.m.Step(w.now, w.lag, 0) // no decisions before the list is complete
	w.lag = nil
	w.carryOut(effects)
}

func nodeName(i int) string { return string([]byte{'n', '0' + byte(i/10), '0' + byte(i%10)}) }

// settle waits until nothing is in flight. Then no pending pod fits or can preempt.
func (w *simulatedCluster) settle() {
	w.noFaults = true
	for range 800 {
		w.step()
	}
	if w.t.Failed() {
		return
	}
	f := firstFit{w.m.state}
	for _, uid := range w.order {
		p := w.pods[uid]
		seen := w.m.state.Pod(uid)
		if p == nil && seen == nil {
			continue
		}
		if p == nil || seen == nil || p.NodeName != seen.NodeName || p.NominatedNodeName != seen.NominatedNodeName || p.Deleting != seen.Deleting {
			w.t.Errorf("idle, but pod %s is %+v in the API and %+v in the state", uid, p, seen)
			continue
		}
		if p.NodeName != "" || p.Deleting {
			continue
		}
		var s decision.Summary
		if f.Decide(p, &s); s.Outcome == decision.Scheduled {
			w.t.Errorf("pod %s (cpu %d, priority %d) is pending in %q though it fits on %s", uid, p.Spec.Requests.MilliCPU, p.Spec.Priority, w.m.queue.PoolOf(uid), s.Choice)
		} else if q := f.Preempt(p, &s); q.Outcome != decision.PreemptionNoCandidates {
			w.t.Errorf("pod %s (cpu %d, priority %d) is pending in %q though it could preempt on %q (%d)", uid, p.Spec.Requests.MilliCPU, p.Spec.Priority, w.m.queue.PoolOf(uid), q.Node, q.Outcome)
		}
	}
	if n := len(w.m.nominations) + len(w.m.nominationsByEffect) + len(w.m.markedVictims) + len(w.m.volumeBinds); n > 0 {
		w.t.Errorf("idle with %d nominations, %d in flight, %d victims, %d volume binds", len(w.m.nominations), len(w.m.nominationsByEffect), len(w.m.markedVictims), len(w.m.volumeBinds))
	}
	if n := len(w.m.reportsByEffect); n > len(w.due) {
		w.t.Errorf("%d reports in flight, but %d effects", n, len(w.due))
	}
	if n := len(w.m.reports); n > len(w.m.reportsByEffect)+len(w.m.reportRetries) {
		w.t.Errorf("%d reports, but only %d in flight and %d to retry", n, len(w.m.reportsByEffect), len(w.m.reportRetries))
	}
	if d := w.m.Depths(); d.InFlight != 0 || len(w.m.attempts) != 0 {
		w.t.Errorf("idle with %d in flight, %d attempts", d.InFlight, len(w.m.attempts))
	}
}

// TestSameEventsSameEffects runs each simulation twice.
func TestSameEventsSameEffects(t *testing.T) {
	for seed := range int64(20) {
		var ends [2]map[string]string
		for i := range ends {
			w := newSimulatedCluster(t, seed)
			w.addNode(3000)
			w.addNode(2000)
			for range 200 {
				w.disturb()
				w.step()
			}
			ends[i] = w.binds
		}
		if len(ends[0]) != len(ends[1]) {
			t.Fatalf("seed %d: %d and %d binds", seed, len(ends[0]), len(ends[1]))
		}
		for uid, node := range ends[0] {
			if ends[1][uid] != node {
				t.Fatalf("seed %d: pod %s was bound to %s and to %s", seed, uid, node, ends[1][uid])
			}
		}
	}
}
