package nodelifecycle

import (
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/berthproject/berth/engine/model"
)

var zero = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// simulatedCluster is an API server with nodes, their agents, and a machine that is called at its wake times.
type simulatedCluster struct {
	t     *testing.T
	o     Options
	m     *Machine
	now   time.Time
	wake  time.Time
	nodes map[string]*Node
	alive map[string]bool
	ready map[string]Status // what an agent reports
	// lag is the delay of effects and events; fail reports whether the next one fails.
	lag  time.Duration
	fail func() bool
	todo []delayedCall
	log  []string // "second node what"
	// tainted is when nodes were tainted from the queue, by zone.
	turns map[string][]time.Time
	lines map[string]time.Duration
}

type delayedCall struct {
	at time.Time
	f  func()
}

func newSimulatedCluster(t *testing.T, zones ...int) *simulatedCluster {
	w := &simulatedCluster{t: t, o: Defaults(), now: zero, nodes: map[string]*Node{}, alive: map[string]bool{}, ready: map[string]Status{},
		fail: func() bool { return false }, turns: map[string][]time.Time{}, lines: map[string]time.Duration{}}
	w.restart()
	for z, count := range zones {
		for i := range count {
			w.add(fmt.Sprintf("%c%02d", 'a'+z, i), fmt.Sprintf("r/%c", 'a'+z))
		}
	}
	return w
}

// restart creates a machine from a list.
func (w *simulatedCluster) restart() {
	w.m, w.wake, w.todo = New(w.o, w.now), w.now, nil
	for _, name := range w.names() {
		w.send(*w.nodes[name])
	}
}

func (w *simulatedCluster) names() []string {
	var out []string
	for name := range w.nodes {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

func (w *simulatedCluster) add(name, zone string) {
	n := &Node{Name: name, UID: "u-" + name, Zone: zone, Created: w.now}
	w.nodes[name], w.alive[name], w.ready[name] = n, true, True
	w.post(n)
}

// post is a status report of an agent.
func (w *simulatedCluster) post(n *Node) {
	for _, kind := range kubeletConditions {
		s := False
		if kind == Ready {
			s = w.ready[n.Name]
		}
		w.condition(n, Condition{Type: kind, Status: s, Heartbeat: w.now, Transition: w.now})
	}
	w.send(*n)
}

func (w *simulatedCluster) condition(n *Node, c Condition) {
	n.Conditions = slices.Clone(n.Conditions)
	for i := range n.Conditions {
		if old := &n.Conditions[i]; old.Type == c.Type {
			if old.Status == c.Status {
				c.Transition = old.Transition
			}
			*old = c
			return
		}
	}
	n.Conditions = append(n.Conditions, c)
}

func (w *simulatedCluster) send(e Event) {
	effects, wake := w.m.Step(w.now, []Event{e})
	w.wake = wake
	w.execute(effects)
}

func (w *simulatedCluster) later(d time.Duration, f func()) {
	w.todo = append(w.todo, delayedCall{w.now.Add(d), f})
	slices.SortStableFunc(w.todo, func(a, b delayedCall) int { return a.at.Compare(b.at) })
}

func (w *simulatedCluster) execute(effects []Effect) {
	for _, e := range effects {
		switch e := e.(type) {
		case MarkUnknown:
			w.effect(e.Node, false, func(n *Node) {
				for _, c := range e.Conditions {
					w.condition(n, c)
				}
				w.note(n.Name, "unknown")
			})
		case UpdateTaints:
			w.effect(e.Node, true, func(n *Node) {
				n.Taints, _ = e.Apply(n.Taints)
				for _, t := range e.Add {
					w.note(n.Name, "+"+short(&t.Taint))
				}
				for i := range e.Remove {
					w.note(n.Name, "-"+short(&e.Remove[i]))
				}
				if e.QueueTime > 0 {
					w.turns[n.Zone] = append(w.turns[n.Zone], w.now)
					w.lines[n.Name] = e.QueueTime
				}
			})
		}
	}
}

// effect applies a change to a node if it still exists.
func (w *simulatedCluster) effect(name string, taints bool, f func(*Node)) {
	n := w.nodes[name]
	if n == nil {
		return
	}
	uid := n.UID
	w.later(w.lag, func() {
		failed := w.fail()
		if n := w.nodes[name]; n != nil && n.UID == uid && !failed {
			f(n)
		}
		w.later(w.lag, func() {
			w.send(Outcome{Node: name, UID: uid, IsTaintUpdate: taints, Failed: failed})
			if n := w.nodes[name]; n != nil {
				w.send(*n)
			}
		})
	})
}

func short(t *model.Taint) string {
	return strings.TrimPrefix(t.Key, "node.kubernetes.io/") + ":" + t.Effect.String()
}

func (w *simulatedCluster) note(node, event string) {
	w.log = append(w.log, fmt.Sprintf("%d %s %s", int(w.now.Sub(zero).Seconds()), node, event))
}

// run advances time. Live agents renew their Lease every 10 s.
func (w *simulatedCluster) run(d time.Duration) {
	end := w.now.Add(d)
	for {
		next := end
		if w.wake.Before(next) {
			next = w.wake
		}
		if len(w.todo) > 0 && w.todo[0].at.Before(next) {
			next = w.todo[0].at
		}
		if heartbeat := w.now.Truncate(10 * time.Second).Add(10 * time.Second); heartbeat.Before(next) {
			next = heartbeat
		}
		if next.After(w.now) {
			w.now = next
		}
		if w.now.Truncate(10 * time.Second).Equal(w.now) {
			w.heartbeat()
		}
		for len(w.todo) > 0 && !w.todo[0].at.After(w.now) {
			f := w.todo[0].f
			w.todo = w.todo[1:]
			f()
		}
		if !w.wake.After(w.now) {
			effects, wake := w.m.Step(w.now, nil)
			if !wake.After(w.now) {
				w.t.Fatalf("wants to be called again immediately, at %v", w.now)
			}
			w.wake = wake
			w.execute(effects)
		}
		if !w.now.Before(end) && (len(w.todo) == 0 || w.todo[0].at.After(w.now)) {
			return
		}
	}
}

func (w *simulatedCluster) heartbeat() {
	for _, name := range w.names() {
		if w.alive[name] {
			w.send(LeaseRenewed{name, w.now})
			if n := w.nodes[name]; n.Ready() != w.ready[name] {
				w.post(n)
			}
		}
	}
}

// stop silences the first count nodes of a zone.
func (w *simulatedCluster) stop(zone string, count int, alive bool) {
	for _, name := range w.names() {
		if strings.HasPrefix(name, zone) && count > 0 {
			w.alive[name] = alive
			count--
		}
	}
}

// has counts the nodes with a taint.
func (w *simulatedCluster) has(event string) (count int) {
	for _, n := range w.nodes {
		for i := range n.Taints {
			if short(&n.Taints[i].Taint) == event {
				count++
			}
		}
	}
	return count
}

// logged returns the first lines of the log that end in a word.
func (w *simulatedCluster) logged(event string) (out []string) {
	for _, line := range w.log {
		if strings.HasSuffix(line, " "+event) {
			out = append(out, strings.TrimSuffix(line, " "+event))
		}
	}
	return out
}

func random(seed int64) *rand.Rand { return rand.New(rand.NewSource(seed)) }
