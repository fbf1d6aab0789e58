package scripted

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"

	"github.com/berthproject/berth/agent"
	"github.com/berthproject/berth/agent/pressure"
	"github.com/berthproject/berth/agent/runtime"
	"github.com/berthproject/berth/engine/nodepressure"
	"github.com/berthproject/berth/engine/nodepressure/usage"
	"github.com/berthproject/berth/engine/podlifecycle"
)

const (
	// syncInterval is how often a node is checked.
	syncInterval = time.Second
	// collectDuration is how long a simulated garbage collection takes.
	collectDuration = 2 * time.Second
)

// Options configures a Manager.
type Options struct {
	Nodes   []*corev1.Node      // as they are registered
	Config  nodepressure.Config // of all nodes; each node has its own Layout
	Reserve nodepressure.DiskReserveConfig
	Events  record.EventRecorder // optional
	// OnEffect is called with each effect of a node's machine before it is executed. Optional.
	OnEffect func(node string, e nodepressure.Effect)
	// OnInvalidAnnotation is called for a node or pod with invalid annotations, in addition to the log and Events. Optional.
	OnInvalidAnnotation func(object metav1.Object, message string)
	Log                 klog.Logger
	// Environment replaces the wall clock and goroutines of the process; may be nil.
	Environment *agent.Environment
}

// Agent stops pods and writes statuses. *agent.Agent implements it.
type Agent interface {
	Evict(agent.Eviction)
	Pods(node string) []*corev1.Pod
	Report(node string)
}

// Manager monitors the nodes. Create it with New, pass Node and Runtime to the agent, then call
// Run.
type Manager struct {
	opts    Options
	env     *agent.Environment
	objects map[string]*corev1.Node
	check   *agent.RepeatedTask
	agent   Agent
	ctx     context.Context // of Run or Start

	mu       sync.Mutex
	nodes    map[string]*node     // nodes that have been monitored at least once
	invalid  map[string]bool      // nodes with an invalid annotation
	reported map[types.UID]string // errors of annotations that were reported
}

// New returns a Manager. It logs the nodes with an invalid usage annotation.
func New(o Options) *Manager {
	m := &Manager{opts: o, env: o.Environment, objects: map[string]*corev1.Node{}, nodes: map[string]*node{}, invalid: map[string]bool{}, reported: map[types.UID]string{}}
	if m.env == nil {
		m.env = agent.ProductionEnvironment()
	}
	m.check = agent.NewRepeatedTask(m.env.Go, m.env.Clock.AfterFunc, m.checkNodes)
	for _, n := range o.Nodes {
		m.objects[n.Name] = n
		if n.Annotations[usage.Annotation] != "" {
			m.watchNode(n.Name)
		}
	}
	return m
}

// Node returns the agent.PressureManager of a node.
func (m *Manager) Node(name string) agent.PressureManager { return nodePressure{m, name} }

type nodePressure struct {
	manager *Manager
	name    string
}

// Admit implements agent.PressureManager.
func (p nodePressure) Admit(pod *corev1.Pod) *agent.Rejection {
	if n := p.manager.node(p.name); n != nil {
		return n.admit(pod, p.manager.now())
	}
	return nil
}

// Conditions implements agent.PressureManager.
func (p nodePressure) Conditions() []corev1.NodeCondition {
	if n := p.manager.node(p.name); n != nil {
		return n.conditions()
	}
	return nil
}

// RestoreConditions implements agent.ConditionRestorer.
func (p nodePressure) RestoreConditions(conditions []corev1.NodeCondition) {
	for _, c := range conditions {
		if c.Type != corev1.NodeReady && c.Status == corev1.ConditionTrue {
			p.manager.watchNode(p.name)
		}
	}
	if n := p.manager.node(p.name); n != nil {
		n.mu.Lock()
		defer n.mu.Unlock()
		pressure.RestoreConditions(p.manager.now(), conditions, n.machine, n.reserve)
		n.wasOutOfDisk = n.wasOutOfDisk || n.reserve.Condition().True
	}
}

// ResumeEviction implements agent.EvictionResumer.
func (p nodePressure) ResumeEviction(pod *corev1.Pod, since time.Time) (deadline time.Time, done func()) {
	deadline = pressure.SoftGraceEnd(&p.manager.opts.Config, pod, since)
	p.manager.watchNode(p.name)
	n := p.manager.node(p.name)
	if n == nil { // unknown node, or its usage annotation is invalid
		return deadline, func() {}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.terminating[pod.UID] = deadline
	return deadline, func() { n.podTerminated(pod.UID) }
}

func (m *Manager) node(name string) *node {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.nodes[name]
}

// Usage returns the node's own usage. It reports false if the node has never been monitored.
func (m *Manager) Usage(name string) (usage.Node, bool) {
	n := m.node(name)
	if n == nil {
		return usage.Node{}, false
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.usage, true
}

// Runtime wraps r to detect pods with scripted usage when they start.
func (m *Manager) Runtime(r runtime.Runtime) runtime.Runtime { return observedRuntime{r, m} }

type observedRuntime struct {
	runtime.Runtime
	manager *Manager
}

// Start implements runtime.Runtime.
func (r observedRuntime) Start(pod *corev1.Pod, container string, attempt int32) {
	r.Runtime.Start(pod, container, attempt)
	r.manager.reportInvalidAnnotations(pod)
	r.manager.watchIfScripted(pod)
}

// Resume implements runtime.Runtime.
func (r observedRuntime) Resume(pod *corev1.Pod, container string, since podlifecycle.Status) {
	r.Runtime.Resume(pod, container, since)
	r.manager.reportInvalidAnnotations(pod)
	r.manager.watchIfScripted(pod)
}

// Update implements runtime.Runtime.
func (r observedRuntime) Update(pod *corev1.Pod) {
	r.Runtime.Update(pod)
	r.manager.reportInvalidAnnotations(pod)
	r.manager.watchIfScripted(pod)
}

// Observe measures the usage of a node before its agent restores the pods on it. The agent then rejects pods for which the
// node lacks disk space; without a measurement it would admit them.
func (m *Manager) Observe(name string, pods []*corev1.Pod) {
	for _, p := range pods {
		m.watchIfScripted(p)
	}
	n := m.node(name)
	if n == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.observe(m.now(), pods)
}

// watchIfScripted starts to monitor the pod's node if the pod's usage is scripted.
func (m *Manager) watchIfScripted(pod *corev1.Pod) {
	for key := range pod.Annotations {
		if strings.HasSuffix(key, usage.Annotation) {
			m.watchNode(pod.Spec.NodeName)
			return
		}
	}
}

func (m *Manager) watchNode(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.nodes[name]
	if n == nil {
		object := m.objects[name]
		if object == nil || m.invalid[name] {
			return
		}
		var err error
		if n, err = newNode(&m.opts, object, m.now()); err != nil {
			m.invalid[name] = true
			m.opts.Log.Error(err, "Failed to parse the node's annotations", "node", name)
			if m.opts.OnInvalidAnnotation != nil {
				m.opts.OnInvalidAnnotation(object, err.Error())
			}
			return
		}
		m.nodes[name] = n
	}
	if n.syncRequested = true; n.next.IsZero() {
		n.next = m.now()
	}
	if m.agent != nil {
		m.check.Trigger()
	}
}

// Run monitors the nodes until ctx ends.
func (m *Manager) Run(ctx context.Context, a Agent) error {
	m.Start(ctx, a)
	<-ctx.Done()
	return nil
}

// Start is like Run, but does not block.
func (m *Manager) Start(ctx context.Context, a Agent) {
	m.mu.Lock() // Report may be called already
	m.agent, m.ctx = a, ctx
	m.mu.Unlock()
	m.check.Trigger()
}

func (m *Manager) now() time.Time { return m.env.Clock.Now() }

// checkNodes checks the nodes that are due, and returns the time until the next check.
func (m *Manager) checkNodes() time.Duration {
	if m.ctx.Err() != nil {
		return agent.Never
	}
	next := m.synchronizeAll(m.now())
	if next.IsZero() {
		return agent.Never
	}
	return max(next.Sub(m.now()), 0)
}

// synchronizeAll checks the nodes that are due and returns when the next one is due.
func (m *Manager) synchronizeAll(now time.Time) (next time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var due []*node
	for _, n := range m.nodes {
		if !n.next.IsZero() && !n.next.After(now) {
			due = append(due, n)
		}
	}
	slices.SortFunc(due, func(a, b *node) int { return strings.Compare(a.name, b.name) })
	for _, n := range due {
		n.syncRequested = false
		m.mu.Unlock()
		nodeNext := m.synchronize(n, now)
		m.mu.Lock()
		if nodeNext.IsZero() && n.syncRequested {
			nodeNext = now.Add(syncInterval) // the change may have come too late for this check
		}
		n.next = nodeNext
	}
	for _, n := range m.nodes {
		if !n.next.IsZero() && (next.IsZero() || n.next.Before(next)) {
			next = n.next
		}
	}
	return next
}
