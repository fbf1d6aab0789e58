package agent

import (
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"

	"github.com/berthproject/berth/sim"
	"github.com/berthproject/berth/sim/store"
)

// connection carries the requests of an agent. It implements kubeclient.Actor.
type connection struct{ p *process }

// Name implements kubeclient.Actor.
func (c *connection) Name() string { return "agent" }

// Evict implements kubeclient.Actor. Agents do not use the eviction API.
func (c *connection) Evict(string, *policyv1.Eviction, func(error)) {
	panic("a node agent requests an eviction")
}

// LogChange implements kubeclient.ChangeLogger.
func (c *connection) LogChange(before, after store.Object) { c.p.m.logChange(before, after) }

// Pod implements kubeclient.Actor. A node agent deletes only pods that it has stopped.
func (c *connection) Pod(string) *corev1.Pod { return nil }

// Send implements kubeclient.Actor. Requests and responses that meet a partition arrive after it, as TCP retransmits them.
// The seed decides whether a request in flight is executed when the agent is killed.
func (c *connection) Send(r *sim.Request) {
	p, w := c.p, c.p.m.a.w
	if r.ObjectKind == store.Leases {
		return // the type leases renews the Lease; the agent's own renewal never gets a response
	}
	fault := sim.NoFault
	if !r.IsRead && w.Faults().LosesWrite(r.Key) {
		fault = sim.RequestLost
		if w.Faults().Hash("answer/"+r.Key)%2 == 0 {
			fault = sim.ResponseLost
		}
	}
	c.p.m.transmit(func() {
		if p.stopped && w.Faults().Hash("cut/agent/"+r.Key)%2 == 0 {
			return
		}
		err := sim.PerformWrite(fault, r.Key, func() error { return w.As("agent", r.Execute) })
		c.p.m.transmit(func() {
			if !p.stopped {
				p.enter(func() { r.OnResult(err) })
			}
		})
	})
}

// transmit calls arrive after the latency, but not during a partition.
func (m *machine) transmit(arrive func()) {
	m.a.w.After(m.a.w.Latency(), func() {
		if m.partitioned {
			m.held = append(m.held, arrive)
			return
		}
		arrive()
	})
}
