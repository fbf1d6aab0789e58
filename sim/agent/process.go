package agent

import (
	"context"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/berthproject/berth/agent"
	"github.com/berthproject/berth/agent/pressure/scripted"
	"github.com/berthproject/berth/agent/runtime"
	"github.com/berthproject/berth/sim/coroutine"
	"github.com/berthproject/berth/sim/kubeclient"
)

// process is a running agent.
type process struct {
	m        *machine
	agent    *agent.Agent
	pressure *scripted.Manager
	onReport func(runtime.Report) // receives the events of the runtime
	manifest *corev1.Node
	uid      types.UID // of the node with which the agent was started
	group    coroutine.Group
	tasks    []func()  // to be started as coroutines
	entered  bool      // enter is running
	woken    bool      // the agent must be turned again
	next     time.Time // of the scheduled turn; zero without one
	stopped  bool
}

// newProcess returns an agent that is not started.
func newProcess(m *machine, n *corev1.Node, deferStatus bool) (*process, error) {
	p := &process{m: m, uid: n.UID, manifest: agent.AdoptedManifest(withStorage(n))}
	p.manifest.CreationTimestamp, p.manifest.Spec.PodCIDR = n.CreationTimestamp, m.podCIDR
	clients := kubeclient.New(m.a.w, &connection{p}, &p.group)
	env := p.environment()
	nodes := []*corev1.Node{p.manifest}
	p.pressure = scripted.New(scripted.Options{Nodes: nodes, Config: m.a.o.Pressure, Reserve: m.a.o.Reserve, Environment: env,
		OnEffect: m.logEffect, OnInvalidAnnotation: m.logInvalidAnnotation})
	var err error
	p.agent, err = agent.New(agent.Options{
		Client: clients.Kubernetes, Environment: env, Nodes: nodes, ExternallyRegistered: true, DeferStatus: deferStatus, Metrics: m.a.metrics,
		Pressure:             func(name string) agent.PressureManager { return conditions{p.pressure.Node(name), m} },
		Ready:                m.ready,
		AllowedUnsafeSysctls: []string{"*"}, // a dump does not contain the configuration of its kubelets
		Runtime: func(report func(runtime.Report)) runtime.Runtime {
			p.onReport = report
			return p.pressure.Runtime(m.runtime)
		},
	})
	return p, err
}

// withStorage returns the node with 0 bytes of ephemeral storage if its resources do not include any. Otherwise the
// agent would assume a disk of a default size.
func withStorage(n *corev1.Node) *corev1.Node {
	out := *n
	for _, list := range []*corev1.ResourceList{&out.Status.Capacity, &out.Status.Allocatable} {
		if _, ok := (*list)[corev1.ResourceEphemeralStorage]; *list != nil && !ok {
			*list = maps.Clone(*list)
			(*list)[corev1.ResourceEphemeralStorage] = resource.Quantity{}
		}
	}
	return &out
}

// start starts the agent with a node and the pods on it.
func (p *process) start(n *corev1.Node, pods []*corev1.Pod) {
	p.enter(func() {
		ctx := context.Background()
		p.agent.Start(ctx)
		p.pressure.Start(ctx, p.agent)
		p.pressure.Observe(n.Name, pods)
		p.agent.Restore(pods, []*corev1.Node{n})
	})
}

// stop kills the agent at the point that it has reached.
func (p *process) stop() {
	p.stopped = true
	p.group.Kill()
}

// serves reports whether the agent was started for this node, and with its resources.
func (p *process) serves(n *corev1.Node) bool { return p.uid == n.UID && p.hasResources(n) }

// hasResources reports whether a node has the resources that the agent reports.
func (p *process) hasResources(n *corev1.Node) bool {
	equal := func(want, got corev1.ResourceList) bool {
		for name, q := range want {
			if other := got[name]; other.Cmp(q) != 0 {
				return false
			}
		}
		return true
	}
	return equal(p.manifest.Status.Capacity, n.Status.Capacity) && equal(p.manifest.Status.Allocatable, n.Status.Allocatable)
}

// enter calls f. Then it starts tasks and turns the agent's loop until nothing is left to do now.
func (p *process) enter(f func()) {
	if p.stopped {
		return
	}
	if p.entered {
		f()
		p.woken = true
		return
	}
	p.entered = true
	f()
	var next time.Time
	for {
		for len(p.tasks) > 0 {
			task := p.tasks[0]
			p.tasks = p.tasks[1:]
			p.group.Go(p.m.name, task)
		}
		p.woken = false
		if next = p.agent.Turn(); !p.woken && len(p.tasks) == 0 {
			break
		}
	}
	p.entered = false
	p.schedule(next)
}

// schedule schedules a turn of the agent's loop, unless an earlier one is scheduled or the time is zero.
func (p *process) schedule(at time.Time) {
	if at.IsZero() || !p.next.IsZero() && !at.Before(p.next) {
		return
	}
	p.next = at
	p.m.a.w.AtTime(at, func() {
		if p.next.Equal(at) {
			p.next = time.Time{}
			p.enter(func() {})
		}
	})
}

// environment returns the environment of the agent.
func (p *process) environment() *agent.Environment {
	w := p.m.a.w
	return &agent.Environment{
		Clock: worldClock{w: w, run: p.enter},
		Go:    func(f func()) { p.tasks = append(p.tasks, f) },
		Sleep: func(_ context.Context, d time.Duration) bool {
			p.group.Wait(func(resume func()) { w.After(d, func() { p.enter(resume) }) })
			return true
		},
		Wake:      func() { p.woken = true },
		Random:    func(n int64) int64 { return n / 2 },
		Heartbeat: func(string, agent.HeartbeatKind, time.Duration, func()) clock.Timer { return &timer{} }, // see leases
	}
}
