package agent

import (
	"slices"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/agent"
	"github.com/berthproject/berth/sim"
	"github.com/berthproject/berth/sim/store"
)

// leases writes the Leases of nodes. Their only reader is the node lifecycle controller, which pauses while the cluster is
// quiet. During that time, leases writes only when a node changes, because that wakes the controller. Periodic renewals
// would be thousands of events a minute without any effect.
type leases struct {
	w           *sim.World
	silentSince map[string]time.Time // by node: when its agent was stopped or partitioned
	notQuiet    map[string]bool      // nodes that may need the node lifecycle controller
	scheduled   bool                 // the next periodic renewal is scheduled
	pending     bool                 // a renewal is scheduled for now
	renewed     time.Time            // the last renewal, or the start
}

func newLeases(w *sim.World) *leases {
	l := &leases{w: w, renewed: w.Now(), silentSince: map[string]time.Time{}, notQuiet: map[string]bool{}}
	w.OnCommit(func(c store.Change) {
		if c.Kind == store.Nodes {
			l.observe(c)
		}
	})
	w.OnNotice(func(notice any) {
		if _, ok := notice.(Silent); ok {
			l.renewNow()
		}
	})
	return l
}

// IsQuiet reports whether all agents work and no node has a condition or taint that the node lifecycle controller has to
// change.
func (l *leases) IsQuiet() bool { return len(l.notQuiet) == 0 && len(l.silentSince) == 0 }

// observe handles a changed node.
func (l *leases) observe(c store.Change) {
	name := c.Object().GetName()
	n, exists := c.New.(*corev1.Node)
	if !exists || isQuiet(n) {
		delete(l.notQuiet, name)
	} else {
		l.notQuiet[name] = true
	}
	if exists && (l.notQuiet[name] && !l.scheduled || l.w.Now().Truncate(agent.LeaseRenewal).After(l.renewed)) {
		l.renewNow()
	}
	if !exists {
		l.w.After(0, func() {
			_ = l.w.API().Delete(store.Leases, store.Key(corev1.NamespaceNodeLease, name), store.Precondition{})
		})
	}
}

// isQuiet reports whether a node is Ready and has neither another condition nor a taint of the node lifecycle controller.
func isQuiet(n *corev1.Node) bool {
	quiet := !n.Spec.Unschedulable && !slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return strings.HasPrefix(t.Key, "node.kubernetes.io/") })
	for i := range n.Status.Conditions {
		c := &n.Status.Conditions[i]
		quiet = quiet && (c.Type == corev1.NodeReady) == (c.Status == corev1.ConditionTrue) && c.Status != corev1.ConditionUnknown
	}
	return quiet
}

// renewNow schedules a renewal for now. The controller gets the Leases together with the change that wakes it.
func (l *leases) renewNow() {
	if l.pending {
		return
	}
	l.pending = true
	l.w.After(0, func() {
		l.pending = false
		l.renew()
	})
}

// renew writes the Leases that have changed. It repeats this every agent.LeaseRenewal until the cluster is quiet.
func (l *leases) renew() {
	l.renewed = l.w.Now()
	for _, n := range l.w.API().List(store.Nodes) {
		l.write(n.GetName(), metav1.NewMicroTime(l.renewedAt(n.GetName())))
	}
	if l.scheduled || l.IsQuiet() {
		return
	}
	l.scheduled = true
	l.w.AtTime(l.w.Now().Truncate(agent.LeaseRenewal).Add(agent.LeaseRenewal), func() {
		l.scheduled = false
		l.renew()
	})
}

// renewedAt returns when the agent of a node last renewed its Lease.
func (l *leases) renewedAt(node string) time.Time {
	at := l.w.Now()
	if since, silent := l.silentSince[node]; silent {
		at = since
	}
	return at.Truncate(agent.LeaseRenewal)
}

func (l *leases) write(node string, renewed metav1.MicroTime) {
	key := store.Key(corev1.NamespaceNodeLease, node)
	err := store.Update(l.w.API(), key, store.Precondition{}, func(lease *coordinationv1.Lease) error {
		if lease.Spec.RenewTime.Equal(&renewed) {
			return store.ErrUnchanged
		}
		lease.Spec.RenewTime = &renewed
		return nil
	})
	if err == nil {
		return
	}
	seconds := int32(agent.LeaseDurationRenewals * agent.LeaseRenewal / time.Second)
	_ = l.w.API().Create(&coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: corev1.NamespaceNodeLease, Name: node},
		Spec: coordinationv1.LeaseSpec{HolderIdentity: &node, LeaseDurationSeconds: &seconds, RenewTime: &renewed}})
}
