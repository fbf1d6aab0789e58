package agent

import (
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/agent/runtime"
	"github.com/berthproject/berth/agent/runtime/simulated"
	"github.com/berthproject/berth/engine/nodepressure/usage"
	"github.com/berthproject/berth/sim/store"
)

// correctionInterval is the time after which an agent corrects its node's status, as with the kubelet's update frequency.
const correctionInterval = 10 * time.Second

// machine is the state of a node that outlives its agent: the containers and the connection to the API.
type machine struct {
	a           *Agents
	name        string
	podCIDR     string
	node        *corev1.Node // as last delivered
	runtime     *simulated.Runtime
	process     *process // nil: the machine is idle, or its agent is stopped
	stopped     bool     // the agent is stopped
	partitioned bool
	held        []func() // requests and responses that wait for the end of the partition
	reports     map[corev1.NodeConditionType]corev1.ConditionStatus
	pods        map[types.UID]*corev1.Pod // as last delivered to the process
	correcting  bool                      // a correction of the node's status is scheduled
	lastWarning string                    // last warning, to log it once
}

// newMachine returns an idle machine. Its pods get the addresses of the range with the given number.
func newMachine(a *Agents, n *corev1.Node, number int) *machine {
	return &machine{a: a, name: n.Name, node: n, podCIDR: fmt.Sprintf("10.%d.%d.0/24", number>>8&0xff, number&0xff),
		reports: map[corev1.NodeConditionType]corev1.ConditionStatus{}}
}

// report passes an event of the runtime to the running agent.
func (m *machine) report(r runtime.Report) {
	if m.process != nil {
		m.process.report(r)
	}
}

// restart starts the agent from a list of the node and its pods.
func (m *machine) restart() {
	n := m.node
	if o, ok := m.a.w.API().Get(store.Nodes, m.name); ok {
		n, _ = o.(*corev1.Node)
	}
	m.start(n, m.a.listPods(m.name), false)
}

// start starts the agent with its node and pods, unless it is running or must stay stopped. deferStatus is
// agent.Options.DeferStatus.
func (m *machine) start(n *corev1.Node, pods []*corev1.Pod, deferStatus bool) {
	if m.process != nil || m.stopped {
		return
	}
	if m.runtime == nil {
		m.runtime = simulated.NewWithOptions(simulated.Options{Clock: worldClock{w: m.a.w, run: m.enter}, JobsRun: true}, m.report)
	}
	p, err := newProcess(m, n, deferStatus)
	if err != nil {
		m.a.w.Log("agent", "error", m.name, err.Error())
		return
	}
	m.process, m.pods = p, map[types.UID]*corev1.Pod{}
	for _, pod := range pods {
		m.pods[pod.UID] = pod
	}
	p.start(n, pods)
}

// enter calls f. If the agent is running, it then processes the results of f.
func (m *machine) enter(f func()) {
	if m.process == nil {
		f()
		return
	}
	m.process.enter(f)
}

// stop stops the agent. The containers keep running.
func (m *machine) stop() {
	if m.process != nil {
		m.process.stop()
		m.process = nil
	}
}

// observePod handles a delivered change of a pod. A stopped or disconnected agent gets the change later from a list, see
// connect.
func (m *machine) observePod(p *corev1.Pod, deleted bool) {
	switch {
	case m.stopped || m.partitioned:
	case deleted && m.process != nil:
		delete(m.pods, p.UID)
		m.enter(func() { m.process.agent.ObservePod(p, true) })
	case deleted: // an idle machine runs no pods
	case m.process == nil:
		m.start(m.node, []*corev1.Pod{p}, true)
	default:
		m.pods[p.UID] = p
		m.enter(func() { m.process.agent.ObservePod(p, false) })
	}
}

// replacePods handles a list of the machine's pods.
func (m *machine) replacePods(list []*corev1.Pod) {
	switch {
	case m.stopped || m.partitioned:
	case m.process != nil:
		listed := uids(list)
		for _, uid := range slices.Sorted(maps.Keys(m.pods)) {
			if p := m.pods[uid]; !listed[uid] {
				m.a.w.Log("agent", "stopped", store.KeyOf(p), store.KeyOf(p)+" is stopped on "+m.name+": it no longer exists in the API")
				m.observePod(p, true)
			}
		}
		for _, p := range list {
			m.observePod(p, false)
		}
	case len(list) > 0:
		m.start(m.node, list, true)
	}
}

// observeNode handles a delivered change of the node.
func (m *machine) observeNode(n *corev1.Node) {
	if m.partitioned || m.stopped {
		m.node = n
		return
	}
	recreated := m.node.UID != n.UID
	m.node = n
	switch {
	case m.process != nil && recreated:
		m.stop()
		m.restart()
	case m.process != nil:
		m.enter(func() { m.process.agent.ObserveNode(withStorage(n)) })
	case n.Annotations[usage.Annotation] != "":
		m.start(n, nil, true)
	}
	if m.isOutdated(n) && !m.correcting {
		m.correcting = true
		m.a.w.After(correctionInterval, func() {
			m.correcting = false
			if m.isOutdated(m.node) {
				m.writeStatus()
			}
		})
	}
}

// isOutdated reports whether the conditions of the node differ from those that its agent reports.
func (m *machine) isOutdated(n *corev1.Node) bool {
	want := corev1.ConditionTrue
	if s := m.reports[corev1.NodeReady]; s != "" {
		want = s
	}
	return store.NodeConditionStatus(n, corev1.NodeReady) != want ||
		slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool { return c.Status == corev1.ConditionUnknown })
}

// writeStatus makes the agent write the node's status. It starts an idle agent, which does so.
func (m *machine) writeStatus() {
	switch {
	case m.stopped || m.partitioned:
	case m.process == nil:
		m.restart()
	default:
		m.enter(func() { m.process.agent.Report(m.name) })
	}
}
