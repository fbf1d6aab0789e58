package taints

import (
	"container/heap"
	"slices"
	"strings"
	"time"

	"github.com/berthproject/berth/engine/model"
)

// How long an eviction that failed waits.
const (
	firstRetry = 100 * time.Millisecond
	lastRetry  = 30 * time.Second
)

// Machine knows all bound pods and the NoExecute taints of all nodes. Make it with New.
type Machine struct {
	o       Options
	started time.Time
	nodes   map[string]*node
	pods    map[string]*pod // by key
	due     schedule
	out     []Effect
}

type node struct {
	known  bool // false: only its pods are
	taints []since
	pods   map[string]*pod
}

// pod is a pod and what is planned for it.
type pod struct {
	Pod
	key   string
	bound time.Time
	fate  fate
	asked bool          // an Evict is under way
	wait  time.Duration // after the last failure
	again time.Time     // not asked for before, after a failure
	at    time.Time     // when it is to be asked for
	index int           // in the schedule; -1: not there
}

// New is a machine that knows nothing.
func New(o Options, started time.Time) *Machine {
	return &Machine{o: o, started: started, nodes: map[string]*node{}, pods: map[string]*pod{}}
}

// Step takes in events, in order, and returns what is to be done, and when to be called
// again if nothing happens before; zero: not at all.
func (m *Machine) Step(now time.Time, events []Event) (effects []Effect, wake time.Time) {
	m.out = nil
	for _, e := range events {
		switch e := e.(type) {
		case Node:
			m.setNode(now, e)
		case NodeGone:
			m.dropNode(e.Name)
		case Pod:
			m.setPod(now, e)
		case PodGone:
			m.dropPod(e.Namespace + "/" + e.Name)
		case Failed:
			m.failed(now, e)
		}
	}
	for len(m.due) > 0 && !m.due[0].at.After(now) {
		p := m.due[0]
		heap.Pop(&m.due)
		p.asked = true
		m.out = append(m.out, Evict{Pod: p.Pod, Taint: p.fate.taint.Taint, Added: p.fate.taint.from, Due: p.fate.due,
			Tolerated: p.fate.tolerated, Seconds: p.fate.seconds})
	}
	if len(m.due) > 0 {
		wake = m.due[0].at
	}
	return m.out, wake
}

// Due is when a pod is to leave, and by which taint; false when it stays.
func (m *Machine) Due(namespace, name string) (time.Time, model.Taint, bool) {
	p := m.pods[namespace+"/"+name]
	if p == nil || !p.fate.leaves {
		return time.Time{}, model.Taint{}, false
	}
	return p.fate.due, p.fate.taint.Taint, true
}

func (m *Machine) setNode(now time.Time, e Node) {
	n := m.node(e.Name)
	taints := timed(now, n.taints, e.Taints, m.started)
	if n.known && slices.Equal(n.taints, taints) {
		return
	}
	n.known, n.taints = true, taints
	m.judgeAll(now, n)
}

func (m *Machine) dropNode(name string) {
	n := m.nodes[name]
	if n == nil {
		return
	}
	n.known, n.taints = false, nil
	for _, p := range n.pods {
		p.fate = fate{}
		m.unschedule(p)
	}
	m.tidy(name)
}

// judgeAll judges the pods of a node anew, in the order of their names.
func (m *Machine) judgeAll(now time.Time, n *node) {
	pods := make([]*pod, 0, len(n.pods))
	for _, p := range n.pods {
		pods = append(pods, p)
	}
	slices.SortFunc(pods, func(a, b *pod) int { return strings.Compare(a.key, b.key) })
	for _, p := range pods {
		m.judge(now, p, n)
	}
}

func (m *Machine) setPod(now time.Time, e Pod) {
	key := e.Key()
	p := m.pods[key]
	if p != nil && (p.UID != e.UID || p.Node != e.Node) {
		m.dropPod(key)
		p = nil
	}
	if e.Node == "" || e.Deleting {
		m.dropPod(key)
		return
	}
	n := m.node(e.Node)
	if p == nil {
		p = &pod{key: key, index: -1, bound: moment(now, e.Bound)}
		m.pods[key], n.pods[key] = p, p
	} else if !e.Bound.Equal(p.Bound) {
		p.bound = moment(now, e.Bound)
	}
	p.Pod = e
	m.judge(now, p, n)
}

// dropPod forgets a pod that is gone, or going.
func (m *Machine) dropPod(key string) {
	p := m.pods[key]
	if p == nil {
		return
	}
	m.unschedule(p)
	delete(m.pods, key)
	delete(m.nodes[p.Node].pods, key)
	m.tidy(p.Node)
}

func (m *Machine) failed(now time.Time, e Failed) {
	p := m.pods[e.Namespace+"/"+e.Name]
	if p == nil || p.UID != e.UID || !p.asked {
		return
	}
	p.asked = false
	p.wait = min(max(2*p.wait, firstRetry), lastRetry)
	p.again = now.Add(p.wait)
	if p.fate.leaves {
		m.schedule(p)
	}
}

// node is the entry of a node, known or not.
func (m *Machine) node(name string) *node {
	n := m.nodes[name]
	if n == nil {
		n = &node{pods: map[string]*pod{}}
		m.nodes[name] = n
	}
	return n
}

// tidy drops the entry of a node that there is nothing to say of.
func (m *Machine) tidy(name string) {
	if n := m.nodes[name]; !n.known && len(n.pods) == 0 {
		delete(m.nodes, name)
	}
}
