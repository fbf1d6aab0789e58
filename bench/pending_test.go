package bench

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement/framework"
	"github.com/berthproject/berth/engine/scheduling"
	"github.com/berthproject/berth/engine/scheduling/profiles"
)

// BenchmarkPendingPods measures a full cluster with many pending pods and 1,000 events per second. Pods of other
// schedulers are created and deleted, and bound pods are deleted. Nodes report, are relabeled, grow and are tainted. It
// reports the time of an event with all its consequences in the process. It also reports how many pods are bound, and
// how many are requeued and rejected again.
func BenchmarkPendingPods(b *testing.B) {
	for _, pending := range []int{1000, 100_000} {
		for _, classes := range []int{100, 1000} {
			b.Run(fmt.Sprintf("nodes=5000/pending=%d/classes=%d", pending, classes), func(b *testing.B) {
				p := newPendingBench(b, 5000, pending, classes)
				b.ResetTimer()
				for b.Loop() {
					p.event()
				}
				p.report(b)
			})
		}
	}
}

// pendingBench is a full cluster with pending pods.
type pendingBench struct {
	*rand.Rand
	b         *testing.B
	m         *scheduling.Machine
	now       time.Time
	nodes     []*model.Node
	apps      []app
	bound     []*model.Pod // pods that may be deleted
	otherPods []*model.Pod // pods of other schedulers, beyond the capacity of the nodes
	serial    int

	events, binds, wastedWakeups int           // since the start of the measurement
	spent                        time.Duration // on events and their consequences
}

// newPendingBench returns a cluster with the given number of nodes, pending pods and equivalence classes.
func newPendingBench(b *testing.B, nodes, pending, classes int) *pendingBench {
	profile, err := framework.NewProfile(framework.DefaultConfig())
	if err != nil {
		b.Fatal(err)
	}
	cfg := scheduling.DefaultConfig()
	cfg.Profiles = []profiles.Profile{profiles.New(profile, 1, 0)}
	p := &pendingBench{Rand: rand.New(rand.NewPCG(3, 4)), b: b, m: scheduling.New(cfg), now: time.Unix(1_700_000_000, 0)}
	s := mixedCluster(nodes)
	p.apps = apps(s, classes, commonKinds...)
	for i := range p.apps { // a separate size, and so a separate equivalence class, for each app
		spec := *p.apps[i].spec
		spec.Requests.MilliCPU += int64(i)
		p.apps[i].spec = &spec
	}
	events := []scheduling.Event{&model.Namespace{Name: "default"}}
	for _, g := range s.SpreadGroups("default") {
		events = append(events, &g)
	}
	for _, id := range s.NodeIDs() {
		n := s.Node(id).Model
		p.nodes = append(p.nodes, n)
		events = append(events, n)
		for remaining := n.Allocatable.MilliCPU; remaining > 0; {
			pod := p.pod()
			if remaining -= pod.Spec.Requests.MilliCPU; len(events)%40 == 0 || remaining < 1000 { // a large pod fills the node
				spec := *pod.Spec
				spec.Requests.MilliCPU += remaining
				remaining, pod.Spec = 0, &spec
			}
			pod.NodeName = n.Name
			p.bound = append(p.bound, pod)
			events = append(events, pod)
		}
	}
	p.m.Step(p.now, events, 0)
	for range pending {
		p.addPending()
	}
	p.m.Step(p.now.Add(20*time.Second), nil, 1<<30)
	p.now = p.now.Add(40 * time.Second)
	p.events, p.binds, p.wastedWakeups, p.spent = 0, 0, 0, 0
	if d := p.m.Depths(); d.Unschedulable < pending*9/10 {
		b.Fatalf("queue depths %+v, want at least %d unschedulable pods", d, pending*9/10)
	}
	return p
}

// pod returns a new pod of the next app.
func (p *pendingBench) pod() *model.Pod {
	p.serial++
	return p.apps[p.serial%len(p.apps)].pod(p.serial)
}

// addPending adds a pending pod. Its time is not measured.
func (p *pendingBench) addPending() {
	p.step(false, p.pod())
}

// event processes a random event one millisecond after the previous event.
func (p *pendingBench) event() {
	p.now = p.now.Add(time.Millisecond)
	n := p.nodes[p.IntN(len(p.nodes))]
	before := p.binds
	switch k := p.IntN(20); {
	case k < 7:
		p.step(true, p.removeRandom(&p.bound))
	case k < 11 || len(p.otherPods) == 0:
		pod := p.pod()
		pod.NodeName = n.Name
		p.otherPods = append(p.otherPods, pod)
		p.step(true, pod)
	case k < 15:
		p.step(true, p.removeRandom(&p.otherPods))
	default:
		p.step(true, p.mutateNode(n, k))
	}
	p.events++
	for range p.binds - before { // replace the pods that were bound
		p.addPending()
	}
}

// removeRandom removes a random pod from a list and returns the event of its deletion.
func (p *pendingBench) removeRandom(list *[]*model.Pod) scheduling.Event {
	i, last := p.IntN(len(*list)), len(*list)-1
	pod := (*list)[i]
	(*list)[i] = (*list)[last]
	*list = (*list)[:last]
	return scheduling.Remove{Object: &model.Pod{UID: pod.UID}}
}

// mutateNode returns a changed copy of a node: with a heartbeat, a label, a taint, or more resources. The
// change lasts until the next event of the node. k, from 15 to 19, selects the change.
func (p *pendingBench) mutateNode(n *model.Node, k int) *model.Node {
	c := *n
	switch k {
	case 15, 16:
		c.ResourceVersion = fmt.Sprint(p.events)
	case 17:
		c.Labels = append(model.Labels{{Key: "a-note", Value: fmt.Sprint(p.events)}}, n.Labels...)
	case 18:
		c.Taints = []model.Taint{{Key: "busy", Effect: model.NoSchedule}}
	case 19:
		c.Allocatable.MilliCPU += 200
	}
	return &c
}

// step processes events and executes the effects, until there are no further events. If timed, its time is
// counted.
func (p *pendingBench) step(timed bool, events ...scheduling.Event) {
	start := time.Now()
	for len(events) > 0 {
		effects, _ := p.m.Step(p.now, events, 1000)
		events = nil
		for _, e := range effects {
			switch e := e.(type) {
			case scheduling.Bind:
				pod := *e.Pod
				pod.NodeName = e.Node
				p.bound = append(p.bound, &pod)
				p.binds++
				events = append(events, scheduling.Outcome{ID: e.ID}, &pod)
			case scheduling.ReportUnschedulable:
				if timed {
					p.wastedWakeups++
				}
				events = append(events, scheduling.Outcome{ID: e.ID})
			case scheduling.MissedWakeup:
				p.b.Fatalf("pod %s missed a wake-up: it fits node %s", e.Pod.Key(), e.Node)
			}
		}
	}
	if timed {
		p.spent += time.Since(start)
	}
}

func (p *pendingBench) report(b *testing.B) {
	b.ReportMetric(float64(p.spent.Nanoseconds())/float64(p.events), "ns/event")
	b.ReportMetric(float64(p.wastedWakeups)/float64(p.events), "wasted_wakeups/event")
	b.ReportMetric(float64(p.m.WakeupCounts().StaleWakeups)/float64(p.events), "stale_wakeups/event")
	b.ReportMetric(float64(p.binds)/float64(p.events), "binds/event")
	b.ReportMetric(0, "ns/op") // meaningless, as it includes new pods
}
