package scheduling

import (
	"testing"

	"github.com/berthproject/berth/engine/model"
)

// TestNothingIsLostOrDoubled lives through lost and late answers, a lagging
// watch, deletions and restarts, and ends when everything that fits is bound.
func TestNothingIsLostOrDoubled(t *testing.T) {
	for seed := range int64(300) {
		w := newWorld(t, seed)
		for range 4 {
			w.addNode(1000 + 500*w.r.Int63n(4))
		}
		for range 150 {
			w.disturb()
			w.step()
		}
		w.settle()
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// disturb changes the world.
func (w *world) disturb() {
	switch w.r.Intn(8) {
	case 0, 1, 2:
		w.addPod(100 + 100*w.r.Int63n(5))
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
	}
}

// restart begins again from a list; answers to the old machine are lost, binds under
// way are not.
func (w *world) restart() {
	w.m, w.due, w.lag = newMachine(), nil, nil
	n := len(w.nodes)
	sizes := w.nodes
	w.nodes = map[string]int64{}
	for i := range n {
		w.addNode(sizes[nodeName(i)])
	}
	for _, b := range w.late { // what was asked is granted or lost before anybody else leads
		w.grant(b.Bind)
	}
	w.late, w.lag = nil, w.lag[:n]
	for _, uid := range w.order {
		if w.pods[uid] != nil {
			w.tell(uid)
		}
	}
	w.m.Step(w.now, w.lag, 0) // nothing is decided before the list is complete
	w.lag = nil
}

func nodeName(i int) string { return string([]byte{'n', '0' + byte(i/10), '0' + byte(i%10)}) }

// settle lets everything come to rest: then whatever is pending fits nowhere.
func (w *world) settle() {
	for range 600 {
		w.step()
	}
	free := map[string]int64{}
	for i := range len(w.nodes) {
		free[nodeName(i)] = w.nodes[nodeName(i)]
	}
	for _, uid := range w.order {
		if p := w.pods[uid]; p != nil && p.NodeName != "" {
			free[p.NodeName] -= p.Spec.Requests.MilliCPU
		}
	}
	for _, uid := range w.order {
		p := w.pods[uid]
		if p == nil || p.NodeName != "" {
			continue
		}
		for i := range len(w.nodes) {
			if free[nodeName(i)] >= p.Spec.Requests.MilliCPU {
				w.t.Errorf("pod %s (cpu %d) is pending in %q though %s has %d free", uid, p.Spec.Requests.MilliCPU,
					w.m.queue.Where(uid), nodeName(i), free[nodeName(i)])
			}
		}
	}
	if n := len(w.m.byReport); n > len(w.due) {
		w.t.Errorf("%d reports are thought to be under way, %d effects are", n, len(w.due))
	}
	if n := len(w.m.reports); n > len(w.m.byReport)+len(w.m.repeats) {
		w.t.Errorf("%d reports, but only %d under way and %d to be repeated", n, len(w.m.byReport), len(w.m.repeats))
	}
	if d := w.m.Depths(); d.InFlight != 0 || len(w.m.byPod) != 0 {
		w.t.Errorf("at rest %d in flight, %d attempts", d.InFlight, len(w.m.byPod))
	}
}

// TestSameEventsSameEffects runs each life twice.
func TestSameEventsSameEffects(t *testing.T) {
	for seed := range int64(20) {
		var ends [2]map[string]string
		for i := range ends {
			w := newWorld(t, seed)
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
				t.Fatalf("seed %d: pod %s went to %s and to %s", seed, uid, node, ends[1][uid])
			}
		}
	}
}
