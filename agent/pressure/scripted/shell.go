package scripted

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"

	"github.com/berthproject/berth/agent"
	agentpressure "github.com/berthproject/berth/agent/pressure"
	"github.com/berthproject/berth/agent/runtime"
	"github.com/berthproject/berth/engine/podlife"
	"github.com/berthproject/berth/engine/pressure"
	"github.com/berthproject/berth/engine/pressure/usage"
)

const (
	// looked is how often a node is looked at.
	looked = time.Second
	// collecting is how long it takes to delete containers and images.
	collecting = 2 * time.Second
)

// Options of a Shell.
type Options struct {
	Nodes   []*corev1.Node  // as they are registered
	Config  pressure.Config // for all of them; each has its own Layout
	Reserve pressure.ReserveConfig
	Events  record.EventRecorder // nil: nothing is told
	Log     klog.Logger
}

// Agent is what ends pods and writes statuses: *agent.Agent.
type Agent interface {
	Evict(agent.Eviction)
	Pods(node string) []*corev1.Pod
	Report(node string)
}

// Shell watches the nodes. Make it with New, hand Node and Runtime to the agent, then Run it.
type Shell struct {
	opts    Options
	objects map[string]*corev1.Node
	wake    chan struct{}
	agent   Agent

	mu    sync.Mutex
	nodes map[string]*node     // those that were ever looked at
	told  map[types.UID]string // what was told of annotations that cannot be read
}

// New checks nothing yet: what cannot be read of a node is told when it is looked at.
func New(o Options) *Shell {
	s := &Shell{opts: o, objects: map[string]*corev1.Node{}, wake: make(chan struct{}, 1), nodes: map[string]*node{}, told: map[types.UID]string{}}
	for _, n := range o.Nodes {
		s.objects[n.Name] = n
		if n.Annotations[usage.Annotation] != "" {
			s.begin(n.Name)
		}
	}
	return s
}

// Node is who watches a node, for the agent.
func (s *Shell) Node(name string) agent.Pressure { return watch{s, name} }

type watch struct {
	shell *Shell
	name  string
}

// Admit implements agent.Pressure.
func (w watch) Admit(pod *corev1.Pod) *agent.Refusal {
	if n := w.shell.node(w.name); n != nil {
		return n.admit(pod)
	}
	return nil
}

// Conditions implements agent.Pressure.
func (w watch) Conditions() []corev1.NodeCondition {
	if n := w.shell.node(w.name); n != nil {
		return n.conditions()
	}
	return nil
}

// Recall implements agent.Recaller.
func (w watch) Recall(conditions []corev1.NodeCondition) {
	for _, c := range conditions {
		if c.Type != corev1.NodeReady && c.Status == corev1.ConditionTrue {
			w.shell.begin(w.name)
		}
	}
	if n := w.shell.node(w.name); n != nil {
		n.mu.Lock()
		defer n.mu.Unlock()
		agentpressure.Recall(time.Now(), conditions, n.machine, n.reserve)
		n.was = n.was || n.reserve.Condition().True
	}
}

// Resume implements agent.Resumer.
func (w watch) Resume(pod *corev1.Pod, since time.Time) (by time.Time, done func()) {
	by = agentpressure.SoftEnd(&w.shell.opts.Config, pod, since)
	w.shell.begin(w.name)
	n := w.shell.node(w.name)
	if n == nil { // the agent serves no such node any more
		return by, func() {}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.dying[pod.UID] = by
	return by, func() { n.ended(pod.UID) }
}

func (s *Shell) node(name string) *node {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.nodes[name]
}

// Usage is what a node has and uses itself, without what was collected; false: it was never looked at.
func (s *Shell) Usage(name string) (usage.Node, bool) {
	n := s.node(name)
	if n == nil {
		return usage.Node{}, false
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.usage, true
}

// Runtime is r, with the shell taking notice of what it starts.
func (s *Shell) Runtime(r runtime.Runtime) runtime.Runtime { return noticing{r, s} }

type noticing struct {
	runtime.Runtime
	shell *Shell
}

// Start implements runtime.Runtime.
func (n noticing) Start(pod *corev1.Pod, container string, attempt int32) {
	n.Runtime.Start(pod, container, attempt)
	n.shell.tellUnreadable(pod)
	n.shell.notice(pod)
}

// Resume implements runtime.Runtime.
func (n noticing) Resume(pod *corev1.Pod, container string, since podlife.Status) {
	n.Runtime.Resume(pod, container, since)
	n.shell.notice(pod)
}

// Update implements runtime.Runtime.
func (n noticing) Update(pod *corev1.Pod) {
	n.Runtime.Update(pod)
	n.shell.tellUnreadable(pod)
	n.shell.notice(pod)
}

// notice has the pod's node looked at if the pod's usage is scripted.
func (s *Shell) notice(pod *corev1.Pod) {
	for key := range pod.Annotations {
		if strings.HasSuffix(key, usage.Annotation) {
			s.begin(pod.Spec.NodeName)
			return
		}
	}
}

// begin has a node looked at from now on.
func (s *Shell) begin(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.nodes[name]
	if n == nil {
		object := s.objects[name]
		if object == nil {
			return
		}
		var err error
		if n, err = newNode(&s.opts, object); err != nil {
			s.opts.Log.Error(err, "The node's usage cannot be read", "node", name)
			return
		}
		s.nodes[name] = n
	}
	if n.asked = true; n.next.IsZero() {
		n.next = time.Now()
	}
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Run looks at the nodes until ctx ends.
func (s *Shell) Run(ctx context.Context, a Agent) error {
	s.agent = a
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		if at := s.lookAll(time.Now()); at.IsZero() {
			timer.Reset(time.Hour)
		} else {
			timer.Reset(time.Until(at))
		}
		select {
		case <-ctx.Done():
			return nil
		case <-s.wake:
		case <-timer.C:
		}
	}
}

// lookAll looks at the nodes that are due, and says when the next one is.
func (s *Shell) lookAll(now time.Time) (next time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var due []*node
	for _, n := range s.nodes {
		if !n.next.IsZero() && !n.next.After(now) {
			due = append(due, n)
		}
	}
	slices.SortFunc(due, func(a, b *node) int { return strings.Compare(a.name, b.name) })
	for _, n := range due {
		n.asked = false
		s.mu.Unlock()
		at := s.look(n, now)
		s.mu.Lock()
		if at.IsZero() && n.asked {
			at = now.Add(looked) // what it was asked for may not have been seen
		}
		n.next = at
	}
	for _, n := range s.nodes {
		if !n.next.IsZero() && (next.IsZero() || n.next.Before(next)) {
			next = n.next
		}
	}
	return next
}
