package strife

import (
	"fmt"
	"math/rand"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/berthproject/berth/sim"
	"github.com/berthproject/berth/sim/script"
	"github.com/berthproject/berth/sim/store"
)

// Strife is one run.
type Strife struct {
	Seed int64
	Pods int           // how many the cluster has
	For  time.Duration // how long it is fought over
	// Unsettled ends it in the middle; else it must come to rest, too.
	Unsettled bool
	// Options of the simulation, before faults are added.
	Options sim.Options
	// Half leaves every second pair of owners without a budget.
	Half bool
}

// share is how many pods an owner has, and room how many pods a node has room for.
const (
	share = 25
	room  = 16
)

// cluster is the cluster as a scenario: nodes in three zones that are three quarters full, owners
// with a budget each, of all forms, and more budgets over some of the same pods.
func (s *Strife) cluster() string {
	var b strings.Builder
	nodes := s.Pods*4/(3*room) + 3
	for i := range nodes {
		fmt.Fprintf(&b, "node n%d cpu=%d pods=%d labels=topology.kubernetes.io/zone=z%d\n", i, room, 2*room, i%3)
	}
	forms := []string{"maxUnavailable=2", "minAvailable=80%", "minAvailable=20", "maxUnavailable=10%", "maxUnavailable=1 always", "maxUnavailable=0"}
	for i := 0; i*share < s.Pods; i++ {
		like := fmt.Sprintf("cpu=1 priority=%d labels=app=a%d starts=%ds grace=8s stops=%ds", i%3, i, i%4, i%7)
		if i%2 == 0 {
			fmt.Fprintf(&b, "replicaset a%d replicas=%d %s\n", i, share, like)
		} else {
			fmt.Fprintf(&b, "pod a%d-1..a%d-%d owner=a%d replace %s\n", i, i, share, i, like)
		}
		if s.Half && i%4 > 1 {
			continue
		}
		fmt.Fprintf(&b, "budget a%d match=app=a%d %s\n", i, i, forms[i%len(forms)])
		if i%5 == 0 {
			fmt.Fprintf(&b, "budget more%d match=app=a%d maxUnavailable=3\n", i, i)
		}
	}
	b.WriteString("daemonset logs cpu=100m priority=50\n")
	return b.String()
}

// Run has it out. What did not hold is in the world's Violation.
func (s *Strife) Run() (*sim.World, error) {
	text, err := script.Parse("strife", s.cluster())
	if err != nil {
		return nil, err
	}
	o := s.Options
	o.Seed = uint64(s.Seed)
	o.Latency, o.Lag = 2*time.Millisecond, 10*time.Millisecond
	o.Faults = sim.Faults{Requests: 0.03, Writes: 0.02, Delays: 0.1, Repeats: 0.05, MaxDelay: 2 * time.Second}
	f := &fight{r: rand.New(rand.NewSource(s.Seed)), s: s}
	result, err := text.RunOn(o, begin, func(w *sim.World) error { f.w = w; return nil })
	if err != nil || result.Violation != nil {
		return result.World, err
	}
	for at := begin; at < begin+s.For; at += f.pause() {
		f.w.At(at, f.blow)
	}
	if f.w.Run(begin+s.For) == nil && !s.Unsettled {
		f.w.Calm()
		if f.w.Run(begin+s.For+20*time.Minute) == nil {
			_ = f.w.Rest()
		}
	}
	return f.w, nil
}

// begin is when the cluster is up.
const begin = time.Minute

// fight is who does what to the cluster.
type fight struct {
	r     *rand.Rand
	s     *Strife
	w     *sim.World
	high  int
	dead  []string // nodes whose agents were killed
	taint []string // nodes that were tainted
}

// pause is how long it is to the next blow: blows come in bursts.
func (f *fight) pause() time.Duration {
	if f.r.Intn(8) == 0 {
		return time.Duration(1+f.r.Intn(6000)) * time.Millisecond
	}
	return time.Duration(f.r.Intn(40)) * time.Millisecond
}

// blow is one thing that happens.
func (f *fight) blow() {
	switch n := f.r.Intn(100); {
	case n < 55:
		for range 1 + f.r.Intn(6) {
			f.evict()
		}
	case n < 70:
		f.preemptor()
	case n < 76:
		f.toTaint()
	case n < 80:
		f.untaint()
	case n < 82:
		f.w.Drain(f.node(), "somebody")
	case n < 84:
		f.uncordon()
	case n < 87:
		f.lose()
	case n < 88:
		_ = f.w.API().Remove(store.Nodes, f.node(), store.Precondition{})
	default:
		f.hinder()
	}
}

func (f *fight) pod() *corev1.Pod {
	list := f.w.API().List(store.Pods)
	if len(list) == 0 {
		return nil
	}
	p, _ := list[f.r.Intn(len(list))].(*corev1.Pod)
	return p
}

func (f *fight) node() string {
	list := f.w.API().List(store.Nodes)
	if len(list) == 0 {
		return ""
	}
	return list[f.r.Intn(len(list))].GetName()
}

func (f *fight) evict() {
	if p := f.pod(); p != nil {
		f.w.Evict(sim.Eviction{Pod: store.Key(p.Namespace, p.Name), UID: string(p.UID), By: "somebody"}, func(sim.Answer) {})
	}
}
