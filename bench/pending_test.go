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

// BenchmarkPendingPods measures a full cluster with many waiting pods in which 1,000
// events happen per second: pods of others come and go, our pods end, and nodes report,
// are relabelled, grow and are tainted. It reports the time of an event with all its
// consequences in the process, how many pods are bound, and how many are woken and
// rejected again.
func BenchmarkPendingPods(b *testing.B) {
	for _, waiting := range []int{1000, 100_000} {
		for _, specs := range []int{100, 1000} {
			b.Run(fmt.Sprintf("nodes=5000/waiting=%d/shapes=%d", waiting, specs), func(b *testing.B) {
				w := newPendingBench(b, 5000, waiting, specs)
				b.ResetTimer()
				for b.Loop() {
					w.event()
				}
				w.report(b)
			})
		}
	}
}

// pendingBench is the machine with the waiting pods.
type pendingBench struct {
	*rand.Rand
	b         *testing.B
	m         *scheduling.Machine
	now       time.Time
	nodes     []*model.Node
	apps      []app
	bound     []*model.Pod // pods that may end
	otherPods []*model.Pod // pods of others, beyond the capacity of the nodes
	serial    int

	events, binds, wastedWakeups int
	spent                        time.Duration
}

func newPendingBench(b *testing.B, nodes, waiting, specs int) *pendingBench {
	p, err := framework.NewProfile(framework.DefaultConfig())
	if err != nil {
		b.Fatal(err)
	}
	cfg := scheduling.DefaultConfig()
	cfg.Profiles = []profiles.Profile{profiles.New(p, 1, 0)}
	w := &pendingBench{Rand: rand.New(rand.NewPCG(3, 4)), b: b, m: scheduling.New(cfg), now: time.Unix(1_700_000_000, 0)}
	s := mixedCluster(nodes)
	w.apps = apps(s, specs, commonKinds...)
	for i := range w.apps { // all have the same priority
		spec := *w.apps[i].spec
		spec.Requests.MilliCPU += int64(i)
		w.apps[i].spec = &spec
	}
	events := []scheduling.Event{&model.Namespace{Name: "default"}}
	for _, g := range s.SpreadGroups("default") {
		events = append(events, &g)
	}
	for _, id := range s.NodeIDs() {
		n := s.Node(id).Model
		w.nodes = append(w.nodes, n)
		events = append(events, n)
		for remaining := n.Allocatable.MilliCPU; remaining > 0; {
			pod := w.pod()
			if remaining -= pod.Spec.Requests.MilliCPU; len(events)%40 == 0 || remaining < 1000 { // a large one fills the node
				spec := *pod.Spec
				spec.Requests.MilliCPU += remaining
				remaining, pod.Spec = 0, &spec
			}
			pod.NodeName = n.Name
			w.bound = append(w.bound, pod)
			events = append(events, pod)
		}
	}
	w.m.Step(w.now, events, 0)
	for range waiting {
		w.addPending()
	}
	w.m.Step(w.now.Add(20*time.Second), nil, 1<<30)
	w.now = w.now.Add(40 * time.Second)
	w.events, w.binds, w.wastedWakeups, w.spent = 0, 0, 0, 0
	if d := w.m.Depths(); d.Unschedulable < waiting*9/10 {
		b.Fatalf("%+v wait of %d", d, waiting)
	}
	return w
}

func (w *pendingBench) pod() *model.Pod {
	w.serial++
	return w.apps[w.serial%len(w.apps)].pod(w.serial)
}

// addPending adds a new pod that does not fit; this is not measured.
func (w *pendingBench) addPending() {
	w.step(false, w.pod())
}

// event makes one event happen.
func (w *pendingBench) event() {
	w.now = w.now.Add(time.Millisecond)
	n := w.nodes[w.IntN(len(w.nodes))]
	before := w.binds
	switch k := w.IntN(20); {
	case k < 7:
		w.step(true, w.removeRandom(&w.bound))
	case k < 11 || len(w.otherPods) == 0:
		pod := w.pod()
		pod.NodeName = n.Name
		w.otherPods = append(w.otherPods, pod)
		w.step(true, pod)
	case k < 15:
		w.step(true, w.removeRandom(&w.otherPods))
	default:
		w.step(true, w.mutateNode(n, k))
	}
	w.events++
	for range w.binds - before { // replace the pods that were placed
		w.addPending()
	}
}

func (w *pendingBench) removeRandom(from *[]*model.Pod) scheduling.Event {
	i, last := w.IntN(len(*from)), len(*from)-1
	pod := (*from)[i]
	(*from)[i] = (*from)[last]
	*from = (*from)[:last]
	return scheduling.Remove{Object: &model.Pod{UID: pod.UID}}
}

// mutateNode returns a node that reports, is relabelled, tainted, or slightly larger for
// some time.
func (w *pendingBench) mutateNode(n *model.Node, k int) *model.Node {
	c := *n
	switch k {
	case 15, 16:
		c.ResourceVersion = fmt.Sprint(w.events)
	case 17:
		c.Labels = append(model.Labels{{Key: "a-note", Value: fmt.Sprint(w.events)}}, n.Labels...)
	case 18:
		c.Taints = []model.Taint{{Key: "busy", Effect: model.NoSchedule}}
	case 19:
		c.Allocatable.MilliCPU += 200
	}
	return &c
}

// step processes an event and grants what the machine requests.
func (w *pendingBench) step(timed bool, events ...scheduling.Event) {
	start := time.Now()
	for len(events) > 0 {
		effects, _ := w.m.Step(w.now, events, 1000)
		events = nil
		for _, e := range effects {
			switch e := e.(type) {
			case scheduling.Bind:
				pod := *e.Pod
				pod.NodeName = e.Node
				w.bound = append(w.bound, &pod)
				w.binds++
				events = append(events, scheduling.Outcome{ID: e.ID}, &pod)
			case scheduling.ReportUnschedulable:
				if timed {
					w.wastedWakeups++
				}
				events = append(events, scheduling.Outcome{ID: e.ID})
			case scheduling.MissedWakeup:
				w.b.Fatalf("pod %s was not woken for %s", e.Pod.Key(), e.Node)
			}
		}
	}
	if timed {
		w.spent += time.Since(start)
	}
}

func (w *pendingBench) report(b *testing.B) {
	b.ReportMetric(float64(w.spent.Nanoseconds())/float64(w.events), "ns/event")
	b.ReportMetric(float64(w.wastedWakeups)/float64(w.events), "wasted_wakeups/event")
	b.ReportMetric(float64(w.m.WakeupCounts().StaleWakeups)/float64(w.events), "stale-wakeups/event")
	b.ReportMetric(float64(w.binds)/float64(w.events), "binds/event")
	b.ReportMetric(0, "ns/op") // it would include arrivals
}
