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
	sc := &simulatedCluster{t: t, o: Defaults(), now: startTime, nodes: map[string]*Node{}, responsive: map[string]bool{}, ready: map[string]Status{},
		fail: func() bool { return false }, taintTimes: map[string][]time.Time{}}
	sc.restart()
	for z, count := range zones {
		for i := range count {
			sc.add(fmt.Sprintf("%c%02d", 'a'+z, i), fmt.Sprintf("r/%c", 'a'+z))
		}
	}
	return sc
}

// restart creates a new machine and sends it all nodes.
func (sc *simulatedCluster) restart() {
	sc.m, sc.wake, sc.pendingCalls = New(sc.o, sc.now), sc.now, nil
	for _, name := range sc.names() {
		sc.send(*sc.nodes[name])
	}
}

func (sc *simulatedCluster) names() []string {
	var out []string
	for name := range sc.nodes {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

func (sc *simulatedCluster) add(name, zone string) {
	n := &Node{Name: name, UID: "u-" + name, Zone: zone, Created: sc.now}
	sc.nodes[name], sc.responsive[name], sc.ready[name] = n, true, True
	sc.postStatus(n)
}

// postStatus reports a node's status, as its agent does.
func (sc *simulatedCluster) postStatus(n *Node) {
	for _, kind := range kubeletConditions {
		s := False
		if kind == Ready {
			s = sc.ready[n.Name]
		}
		sc.setCondition(n, Condition{Type: kind, Status: s, Heartbeat: sc.now, Transition: sc.now})
	}
	sc.send(*n)
}

func (sc *simulatedCluster) setCondition(n *Node, c Condition) {
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

func (sc *simulatedCluster) send(e Event) {
	effects, wake := sc.m.Step(sc.now, []Event{e})
	sc.wake = wake
	sc.execute(effects)
}

func (sc *simulatedCluster) schedule(d time.Duration, f func()) {
	sc.pendingCalls = append(sc.pendingCalls, delayedCall{sc.now.Add(d), f})
	slices.SortStableFunc(sc.pendingCalls, func(a, b delayedCall) int { return a.at.Compare(b.at) })
}

func (sc *simulatedCluster) execute(effects []Effect) {
	for _, e := range effects {
		switch e := e.(type) {
		case MarkUnknown:
			sc.applyLater(e.Node, false, func(n *Node) {
				for _, c := range e.Conditions {
					sc.setCondition(n, c)
				}
				sc.appendLog(n.Name, "unknown")
			})
		case UpdateTaints:
			sc.applyLater(e.Node, true, func(n *Node) {
				n.Taints, _ = e.Apply(n.Taints)
				for _, t := range e.Add {
					sc.appendLog(n.Name, "+"+formatTaint(&t.Taint))
				}
				for i := range e.Remove {
					sc.appendLog(n.Name, "-"+formatTaint(&e.Remove[i]))
				}
				if e.QueueTime > 0 {
					sc.taintTimes[n.Zone] = append(sc.taintTimes[n.Zone], sc.now)
				}
			})
		}
	}
}

// applyLater applies a change to a node after the lag, if the node still exists.
func (sc *simulatedCluster) applyLater(name string, taints bool, f func(*Node)) {
	n := sc.nodes[name]
	if n == nil {
		return
	}
	uid := n.UID
	sc.schedule(sc.lag, func() {
		failed := sc.fail()
		if n := sc.nodes[name]; n != nil && n.UID == uid && !failed {
			f(n)
		}
		sc.schedule(sc.lag, func() {
			sc.send(Outcome{Node: name, UID: uid, IsTaintUpdate: taints, Failed: failed})
			if n := sc.nodes[name]; n != nil {
				sc.send(*n)
			}
		})
	})
}

func formatTaint(t *model.Taint) string {
	return strings.TrimPrefix(t.Key, "node.kubernetes.io/") + ":" + t.Effect.String()
}

func (sc *simulatedCluster) appendLog(node, event string) {
	sc.log = append(sc.log, fmt.Sprintf("%d %s %s", int(sc.now.Sub(startTime).Seconds()), node, event))
}

// run advances time. Responsive agents renew their Lease every 10 s.
func (sc *simulatedCluster) run(d time.Duration) {
	end := sc.now.Add(d)
	for {
		next := end
		if sc.wake.Before(next) {
			next = sc.wake
		}
		if len(sc.pendingCalls) > 0 && sc.pendingCalls[0].at.Before(next) {
			next = sc.pendingCalls[0].at
		}
		if heartbeat := sc.now.Truncate(10 * time.Second).Add(10 * time.Second); heartbeat.Before(next) {
			next = heartbeat
		}
		if next.After(sc.now) {
			sc.now = next
		}
		if sc.now.Truncate(10 * time.Second).Equal(sc.now) {
			sc.heartbeat()
		}
		for len(sc.pendingCalls) > 0 && !sc.pendingCalls[0].at.After(sc.now) {
			f := sc.pendingCalls[0].f
			sc.pendingCalls = sc.pendingCalls[1:]
			f()
		}
		if !sc.wake.After(sc.now) {
			effects, wake := sc.m.Step(sc.now, nil)
			if !wake.After(sc.now) {
				sc.t.Fatalf("Step returned a wake time that is not after %v, want a later one", sc.now)
			}
			sc.wake = wake
			sc.execute(effects)
		}
		if !sc.now.Before(end) && (len(sc.pendingCalls) == 0 || sc.pendingCalls[0].at.After(sc.now)) {
			return
		}
	}
}

func (sc *simulatedCluster) heartbeat() {
	for _, name := range sc.names() {
		if sc.responsive[name] {
			sc.send(LeaseRenewed{name, sc.now})
			if n := sc.nodes[name]; n.Ready() != sc.ready[name] {
				sc.postStatus(n)
			}
		}
	}
}

// setResponsive makes the first count nodes of a zone responsive or silent.
func (sc *simulatedCluster) setResponsive(zone string, count int, responsive bool) {
	for _, name := range sc.names() {
		if strings.HasPrefix(name, zone) && count > 0 {
			sc.responsive[name] = responsive
			count--
		}
	}
}

// countTainted counts the nodes with a taint.
func (sc *simulatedCluster) countTainted(taint string) (count int) {
	for _, n := range sc.nodes {
		for i := range n.Taints {
			if formatTaint(&n.Taints[i].Taint) == taint {
				count++
			}
		}
	}
	return count
}

// logEntries returns the time and node of each log line with the change.
func (sc *simulatedCluster) logEntries(change string) (out []string) {
	for _, line := range sc.log {
		if strings.HasSuffix(line, " "+change) {
			out = append(out, strings.TrimSuffix(line, " "+change))
		}
	}
	return out
}

func newRand(seed int64) *rand.Rand { return rand.New(rand.NewSource(seed)) }
