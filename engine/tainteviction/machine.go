package tainteviction

import (
	"container/heap"
	"slices"
	"strings"
	"time"

	"github.com/berthproject/berth/engine/model"
)

// Retry delays of a failed eviction.
const (
	firstRetry = 100 * time.Millisecond
	lastRetry  = 30 * time.Second
)

// Machine is the taint eviction state machine. Create it with New. It is not safe for concurrent
// use.
type Machine struct {
	options Options
	started time.Time
	nodes   map[string]*node
	pods    map[string]*pod // by key
	queue   schedule
	effects []Effect
}

type node struct {
	exists bool // false: only its pods were reported
	taints []effectiveTaint
	pods   map[string]*pod
}

// pod is a pod and its planned eviction.
type pod struct {
	Pod
	key       string
	bound     time.Time
	plan      evictionPlan
	inFlight  bool          // an Evict was sent
	backoff   time.Duration // after the last failure
	notBefore time.Time     // end of the backoff
	evictAt   time.Time     // when to send Evict
	index     int           // in the queue; -1: not queued
}

// New returns a machine without nodes or pods.
func New(o Options, started time.Time) *Machine {
	return &Machine{options: o, started: started, nodes: map[string]*node{}, pods: map[string]*pod{}}
}

// Step applies the events in order and returns the effects. wake is the latest time of the next call;
// zero means that only an event requires one.
func (m *Machine) Step(now time.Time, events []Event) (effects []Effect, wake time.Time) {
	m.effects = nil
	for _, e := range events {
		switch e := e.(type) {
		case Node:
			m.setNode(now, e)
		case NodeDeleted:
			m.removeNode(e.Name)
		case Pod:
			m.setPod(now, e)
		case PodDeleted:
			m.removePod(e.Namespace + "/" + e.Name)
		case EvictFailed:
			m.handleFailed(now, e)
		}
	}
	for len(m.queue) > 0 && !m.queue[0].evictAt.After(now) {
		p := m.queue[0]
		heap.Pop(&m.queue)
		p.inFlight = true
		m.effects = append(m.effects, Evict{Pod: p.Pod, Taint: p.plan.taint.Taint, Added: p.plan.taint.since, Due: p.plan.due,
			Tolerated: p.plan.tolerated, Seconds: p.plan.seconds})
	}
	if len(m.queue) > 0 {
		wake = m.queue[0].evictAt
	}
	return m.effects, wake
}

// Due returns when a pod is evicted and because of which taint. It returns false if the pod stays.
func (m *Machine) Due(namespace, name string) (time.Time, model.Taint, bool) {
	p := m.pods[namespace+"/"+name]
	if p == nil || !p.plan.evict {
		return time.Time{}, model.Taint{}, false
	}
	return p.plan.due, p.plan.taint.Taint, true
}

func (m *Machine) setNode(now time.Time, e Node) {
	n := m.node(e.Name)
	taints := effectiveTaints(now, n.taints, e.Taints, m.started)
	if n.exists && slices.Equal(n.taints, taints) {
		return
	}
	n.exists, n.taints = true, taints
	m.replanNode(now, n)
}

func (m *Machine) removeNode(name string) {
	n := m.nodes[name]
	if n == nil {
		return
	}
	n.exists, n.taints = false, nil
	for _, p := range n.pods {
		p.plan = evictionPlan{}
		m.unschedule(p)
	}
	m.pruneNode(name)
}

// replanNode recomputes the plans of a node's pods, in name order.
func (m *Machine) replanNode(now time.Time, n *node) {
	pods := make([]*pod, 0, len(n.pods))
	for _, p := range n.pods {
		pods = append(pods, p)
	}
	slices.SortFunc(pods, func(a, b *pod) int { return strings.Compare(a.key, b.key) })
	for _, p := range pods {
		m.replan(now, p, n)
	}
}

func (m *Machine) setPod(now time.Time, e Pod) {
	key := e.Key()
	p := m.pods[key]
	if p != nil && (p.UID != e.UID || p.Node != e.Node) {
		m.removePod(key)
		p = nil
	}
	if e.Node == "" || e.Deleting {
		m.removePod(key)
		return
	}
	n := m.node(e.Node)
	if p == nil {
		p = &pod{key: key, index: -1, bound: effectiveTime(now, e.Bound)}
		m.pods[key], n.pods[key] = p, p
	} else if !e.Bound.Equal(p.Bound) {
		p.bound = effectiveTime(now, e.Bound)
	}
	p.Pod = e
	m.replan(now, p, n)
}

// removePod removes a pod that is deleted, terminating, replaced or no longer on its node.
func (m *Machine) removePod(key string) {
	p := m.pods[key]
	if p == nil {
		return
	}
	m.unschedule(p)
	delete(m.pods, key)
	delete(m.nodes[p.Node].pods, key)
	m.pruneNode(p.Node)
}

func (m *Machine) handleFailed(now time.Time, e EvictFailed) {
	p := m.pods[e.Namespace+"/"+e.Name]
	if p == nil || p.UID != e.UID || !p.inFlight {
		return
	}
	p.inFlight = false
	p.backoff = min(max(2*p.backoff, firstRetry), lastRetry)
	p.notBefore = now.Add(p.backoff)
	if p.plan.evict {
		m.schedule(p)
	}
}

// node returns the entry of a node, creating it if necessary.
func (m *Machine) node(name string) *node {
	n := m.nodes[name]
	if n == nil {
		n = &node{pods: map[string]*pod{}}
		m.nodes[name] = n
	}
	return n
}

// pruneNode deletes the entry of an unknown node without pods.
func (m *Machine) pruneNode(name string) {
	if n := m.nodes[name]; !n.exists && len(n.pods) == 0 {
		delete(m.nodes, name)
	}
}
