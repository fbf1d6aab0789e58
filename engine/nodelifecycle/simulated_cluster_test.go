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

var startTime = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// simulatedCluster is an API server with nodes, their agents, and a machine that is called at its wake times.
type simulatedCluster struct {
	t          *testing.T
	o          Options
	m          *Machine
	now        time.Time
	wake       time.Time
	nodes      map[string]*Node
	responsive map[string]bool
	ready      map[string]Status // what an agent reports
	// lag is the delay of effects and events; fail reports whether the next one fails.
	lag          time.Duration
	fail         func() bool
	pendingCalls []delayedCall
	log          []string // lines of the form "SECONDS NODE CHANGE"
	// taintTimes are the times of taints from the queue, by zone.
	taintTimes map[string][]time.Time
}

type delayedCall struct {
	at time.Time
	f  func()
}

func newSimulatedCluster(t *testing.T, zones ...int) *simulatedCluster {
	w := &simulatedCluster{t: t, o: Defaults(), now: startTime, nodes: map[string]*Node{}, responsive: map[string]bool{}, ready: map[string]Status{},
		fail: func() bool { return false }, taintTimes: map[string][]time.Time{}}
	w.restart()
	for z, count := range zones {
		for i := range count {
			w.add(fmt.Sprintf("%c%02d", 'a'+z, i), fmt.Sprintf("r/%c", 'a'+z))
		}
	}
	return w
}

// restart creates a new machine and sends it all nodes.
func (w *simulatedCluster) restart() {
	w.m, w.wake, w.pendingCalls = New(w.o, w.now), w.now, nil
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
	w.nodes[name], w.responsive[name], w.ready[name] = n, true, True
	w.postStatus(n)
}

// postStatus reports a node's status, as its agent does.
func (w *simulatedCluster) postStatus(n *Node) {
	for _, kind := range kubeletConditions {
		s := False
		if kind == Ready {
			s = w.ready[n.Name]
		}
		w.setCondition(n, Condition{Type: kind, Status: s, Heartbeat: w.now, Transition: w.now})
	}
	w.send(*n)
}

func (w *simulatedCluster) setCondition(n *Node, c Condition) {
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

func (w *simulatedCluster) schedule(d time.Duration, f func()) {
	w.pendingCalls = append(w.pendingCalls, delayedCall{w.now.Add(d), f})
	slices.SortStableFunc(w.pendingCalls, func(a, b delayedCall) int { return a.at.Compare(b.at) })
}

func (w *simulatedCluster) execute(effects []Effect) {
	for _, e := range effects {
		switch e := e.(type) {
		case MarkUnknown:
			w.applyLater(e.Node, false, func(n *Node) {
				for _, c := range e.Conditions {
					w.setCondition(n, c)
				}
				w.appendLog(n.Name, "unknown")
			})
		case UpdateTaints:
			w.applyLater(e.Node, true, func(n *Node) {
				n.Taints, _ = e.Apply(n.Taints)
				for _, t := range e.Add {
					w.appendLog(n.Name, "+"+formatTaint(&t.Taint))
				}
				for i := range e.Remove {
					w.appendLog(n.Name, "-"+formatTaint(&e.Remove[i]))
				}
				if e.QueueTime > 0 {
					w.taintTimes[n.Zone] = append(w.taintTimes[n.Zone], w.now)
				}
			})
		}
	}
}

// applyLater applies a change to a node after the lag, if the node still exists.
func (w *simulatedCluster) applyLater(name string, taints bool, f func(*Node)) {
	n := w.nodes[name]
	if n == nil {
		return
	}
	uid := n.UID
	w.schedule(w.lag, func() {
		failed := w.fail()
		if n := w.nodes[name]; n != nil && n.UID == uid && !failed {
			f(n)
		}
		w.schedule(w.lag, func() {
			w.send(Outcome{Node: name, UID: uid, IsTaintUpdate: taints, Failed: failed})
			if n := w.nodes[name]; n != nil {
				w.send(*n)
			}
		})
	})
}

func formatTaint(t *model.Taint) string {
	return strings.TrimPrefix(t.Key, "node.kubernetes.io/") + ":" + t.Effect.String()
}

func (w *simulatedCluster) appendLog(node, event string) {
	w.log = append(w.log, fmt.Sprintf("%d %s %s", int(w.now.Sub(startTime).Seconds()), node, event))
}

// run advances time. Responsive agents renew their Lease every 10 s.
func (w *simulatedCluster) run(d time.Duration) {
	end := w.now.Add(d)
	for {
		next := end
		if w.wake.Before(next) {
			next = w.wake
		}
		if len(w.pendingCalls) > 0 && w.pendingCalls[0].at.Before(next) {
			next = w.pendingCalls[0].at
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
		for len(w.pendingCalls) > 0 && !w.pendingCalls[0].at.After(w.now) {
			f := w.pendingCalls[0].f
			w.pendingCalls = w.pendingCalls[1:]
			f()
		}
		if !w.wake.After(w.now) {
			effects, wake := w.m.Step(w.now, nil)
			if !wake.After(w.now) {
				w.t.Fatalf("Step returned a wake time that is not after %v", w.now)
			}
			w.wake = wake
			w.execute(effects)
		}
		if !w.now.Before(end) && (len(w.pendingCalls) == 0 || w.pendingCalls[0].at.After(w.now)) {
			return
		}
	}
}

func (w *simulatedCluster) heartbeat() {
	for _, name := range w.names() {
		if w.responsive[name] {
			w.send(LeaseRenewed{name, w.now})
			if n := w.nodes[name]; n.Ready() != w.ready[name] {
				w.postStatus(n)
			}
		}
	}
}

// setResponsive makes the first count nodes of a zone responsive or silent.
func (w *simulatedCluster) setResponsive(zone string, count int, responsive bool) {
	for _, name := range w.names() {
		if strings.HasPrefix(name, zone) && count > 0 {
			w.responsive[name] = responsive
			count--
		}
	}
}

// countTainted counts the nodes with a taint.
func (w *simulatedCluster) countTainted(taint string) (count int) {
	for _, n := range w.nodes {
		for i := range n.Taints {
			if formatTaint(&n.Taints[i].Taint) == taint {
				count++
			}
		}
	}
	return count
}

// logEntries returns the time and node of each log line with the change.
func (w *simulatedCluster) logEntries(change string) (out []string) {
	for _, line := range w.log {
		if strings.HasSuffix(line, " "+change) {
			out = append(out, strings.TrimSuffix(line, " "+change))
		}
	}
	return out
}

func newRand(seed int64) *rand.Rand { return rand.New(rand.NewSource(seed)) }
