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
	a                  *Agents
	name               string
	podCIDR            string
	node               *corev1.Node // as last delivered
	runtime            *simulated.Runtime
	process            *process // nil: the machine is idle, or its agent is stopped
	stopped            bool     // the agent is stopped
	partitioned        bool
	connecting         int                                                 // number of unfinished calls of connect
	held               []func()                                            // requests and responses that wait for the end of the partition
	setConditions      map[corev1.NodeConditionType]corev1.ConditionStatus // by the scenario
	pods               map[types.UID]*corev1.Pod                           // as last delivered to the process
	correcting         bool                                                // a correction of the node's status is scheduled
	lastWarning        string                                              // of the node pressure, to log it once
	invalidAnnotations map[string]bool                                     // logged texts
}

// newMachine returns an idle machine. Its pods get the addresses of the range with the given number.
func newMachine(a *Agents, n *corev1.Node, number int) *machine {
	return &machine{a: a, name: n.Name, node: n, podCIDR: fmt.Sprintf("10.%d.%d.0/24", number>>8&0xff, number&0xff),
		setConditions: map[corev1.NodeConditionType]corev1.ConditionStatus{}}
}

// isConnected reports whether the machine gets changes from its watch. If not, its agent gets them later from a list, see
// connect.
func (m *machine) isConnected() bool { return !m.stopped && !m.partitioned && m.connecting == 0 }

// forward passes an event of the runtime to the running agent.
func (m *machine) forward(r runtime.Report) {
	if m.process != nil {
		m.process.onReport(r)
	}
}

// readNode reads the node from the API. It returns the last delivered node if the API does not have it.
func (m *machine) readNode() *corev1.Node {
	if n := store.Get[*corev1.Node](m.a.w.API(), m.name); n != nil {
		return n
	}
	return m.node
}

// restart starts the agent from a list of the node and its pods.
func (m *machine) restart() { m.start(m.readNode(), m.a.listPods(m.name), false) }

// wake starts the agent of an idle machine with its delivered node and pods. A machine whose agent ran before may have
// containers of other pods, which the agent would remove, so it starts from a list.
func (m *machine) wake(pods []*corev1.Pod) {
	if m.runtime != nil {
		m.restart()
		return
	}
	m.start(m.node, pods, true)
}

// start starts the agent with its node and pods, unless it is running or must stay stopped. deferStatus is
// agent.Options.DeferStatus.
func (m *machine) start(n *corev1.Node, pods []*corev1.Pod, deferStatus bool) {
	if m.process != nil || m.stopped {
		return
	}
	if m.runtime == nil {
		m.runtime = simulated.NewWithOptions(simulated.Options{Clock: worldClock{w: m.a.w, run: m.enter}, JobsRun: true}, m.forward)
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

// observePod handles a delivered change of a pod.
func (m *machine) observePod(p *corev1.Pod, deleted bool) {
	switch {
	case !m.isConnected():
	case deleted && m.process != nil:
		delete(m.pods, p.UID)
		m.enter(func() { m.process.agent.ObservePod(p, true) })
	case deleted: // an idle machine runs no pods
	case m.process == nil:
		m.wake([]*corev1.Pod{p})
	default:
		m.pods[p.UID] = p
		m.enter(func() { m.process.agent.ObservePod(p, false) })
	}
}

// replacePods handles a list of the machine's pods. A pod that the list lacks may still exist, because the list may be
// older than the one with which the agent started.
func (m *machine) replacePods(list []*corev1.Pod) {
	switch {
	case !m.isConnected():
	case m.process != nil:
		listed := uids(list)
		for _, uid := range slices.Sorted(maps.Keys(m.pods)) {
			if p := m.pods[uid]; !listed[uid] && !m.a.exists(p) {
				m.a.w.Log("agent", "stopped", store.KeyOf(p), store.KeyOf(p)+" is stopped on "+m.name+": it no longer exists in the API")
				m.observePod(p, true)
			}
		}
		for _, p := range list {
			m.observePod(p, false)
		}
	case len(list) > 0:
		m.wake(list)
	}
}

// observeNode handles a delivered change of the node.
func (m *machine) observeNode(n *corev1.Node) {
	m.node = n
	switch {
	case !m.isConnected():
		return
	case m.process != nil && m.process.uid != n.UID:
		if m.readNode().UID == n.UID { // else the change is older than the list with which the agent started
			m.stop()
			m.restart()
		}
	case m.process != nil:
		m.enter(func() { m.process.agent.ObserveNode(n) })
	case n.Annotations[usage.Annotation] != "":
		m.wake(nil)
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

// writeStatus makes the agent write the node's status. It starts an idle agent, which does so.
func (m *machine) writeStatus() {
	switch {
	case !m.isConnected():
	case m.process == nil:
		m.restart()
	default:
		m.enter(func() { m.process.agent.Report(m.name) })
	}
}
