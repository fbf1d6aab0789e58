package workload

import (
	"cmp"
	"slices"
	"time"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/order"
)

// DaemonBurst is the maximum number of pods that one plan of a DaemonSet creates, and the maximum that it deletes.
const DaemonBurst = 250

// DaemonSet is the desired state: one pod on each eligible node.
type DaemonSet struct {
	Hash     string // of the current template; its pods have it as a label
	OnDelete bool   // old pods stay until a user deletes them
	// MaxUnavailable and MaxSurge limit a rolling update, as counts; one of them is 0.
	MaxUnavailable, MaxSurge int32
	MinReady                 time.Duration // minReadySeconds
	Generation               int64
	Deleting                 bool // nothing is created or deleted
}

// DaemonNode is the state of a node that a DaemonSet depends on.
type DaemonNode struct {
	Name                      string
	ShouldRun, ShouldContinue bool      // a pod should run there; an existing one may stay
	NotBefore                 time.Time // no pod is created there before; zero: now
}

// DaemonPod is a pod of a DaemonSet.
type DaemonPod struct {
	Pod
	Target string // its node, bound or not
	Hash   string // of its template
}

// DaemonReason is why a DaemonSet deletes a pod.
type DaemonReason uint8

// The reasons.
const (
	DaemonMisplaced DaemonReason = iota // the node is not eligible or was deleted
	DaemonFailed
	DaemonSucceeded
	DaemonExcess   // the node has another one
	DaemonOutdated // by the rolling update
)

// DaemonDelete is a pod to delete.
type DaemonDelete struct {
	Pod    int // index into the given pods
	Reason DaemonReason
}

// DaemonStatus is the status of a DaemonSet, in nodes.
type DaemonStatus struct {
	Desired, Current, Misscheduled, Ready, Updated, Available, Unavailable int32
	Observed                                                               int64 // observedGeneration
}

// DaemonPlan holds the changes to make now.
type DaemonPlan struct {
	Create  []string // nodes that get a pod, by name
	Delete  []DaemonDelete
	Delayed int // nodes whose pod is delayed by NotBefore
	Status  DaemonStatus
	Wake    time.Time // when to plan again; zero: never
}

// Plan plans a DaemonSet. nodes and pods can be in any order. Finished pods that are being deleted
// do not count.
func (d *DaemonSet) Plan(now time.Time, nodes []DaemonNode, pods []DaemonPod) DaemonPlan {
	p := &daemonPlanner{set: d, now: now, pods: pods, podsByNode: map[string][]int{}}
	for i := range pods {
		if !(pods[i].Finished() && pods[i].Deleting) {
			p.podsByNode[pods[i].Target] = append(p.podsByNode[pods[i].Target], i)
		}
	}
	nodes = slices.SortedFunc(slices.Values(nodes), func(a, b DaemonNode) int { return cmp.Compare(a.Name, b.Name) })
	nodePods := make([]daemonNodePods, len(nodes))
	exists := make(map[string]bool, len(nodes))
	for i := range nodes {
		exists[nodes[i].Name] = true
		nodePods[i] = p.classify(&nodes[i])
		p.countStatus(&nodePods[i])
	}
	p.plan.Status.Unavailable = p.plan.Status.Desired - p.plan.Status.Available
	p.plan.Status.Observed = d.Generation
	if d.Deleting {
		return p.plan
	}
	for i := range nodePods {
		p.reconcileNode(&nodePods[i])
	}
	for i := range pods {
		if pods[i].Active() && pods[i].Node == "" && !exists[pods[i].Target] {
			p.plan.Delete = append(p.plan.Delete, DaemonDelete{i, DaemonMisplaced})
		}
	}
	switch {
	case d.OnDelete:
	case d.MaxSurge > 0:
		p.surgingUpdate(nodePods)
	default:
		p.rollingUpdate(nodePods)
	}
	p.plan.Create = p.plan.Create[:min(len(p.plan.Create), DaemonBurst)]
	p.plan.Delete = p.plan.Delete[:min(len(p.plan.Delete), DaemonBurst)]
	return p.plan
}

// daemonPlanner makes one plan.
type daemonPlanner struct {
	set        *DaemonSet
	now        time.Time
	pods       []DaemonPod
	podsByNode map[string][]int // indexes
	plan       DaemonPlan
}

// daemonNodePods is a node with the indexes of its pods; -1 is none.
type daemonNodePods struct {
	node              *DaemonNode
	all               []int // oldest first, bound pods before unbound ones
	terminating       int   // number of terminating pods
	running           []int // neither finished nor terminating
	updated, outdated int   // the pods that stay, of the current and of an older template
	allDeleted        bool  // all its pods are deleted anyway
}

// classify returns a node with its pods by state.
func (p *daemonPlanner) classify(n *DaemonNode) daemonNodePods {
	b := daemonNodePods{node: n, all: p.podsByNode[n.Name], updated: -1, outdated: -1}
	slices.SortFunc(b.all, func(i, j int) int {
		x, y := &p.pods[i], &p.pods[j]
		return cmp.Or(order.TrueFirst(x.Node != "", y.Node != ""), x.Created.Compare(y.Created), cmp.Compare(x.UID, y.UID))
	})
	for _, i := range b.all {
		switch pod := &p.pods[i]; {
		case pod.Deleting:
			b.terminating++
		case !pod.Finished():
			b.running = append(b.running, i)
		}
	}
	return b
}

// countStatus adds a node to the status. It uses the oldest bound pod of the node, or else the oldest one.
func (p *daemonPlanner) countStatus(b *daemonNodePods) {
	s := &p.plan.Status
	if !b.node.ShouldRun {
		if len(b.all) > 0 {
			s.Misscheduled++
		}
		return
	}
	s.Desired++
	if len(b.all) == 0 {
		return
	}
	s.Current++
	pod := &p.pods[b.all[0]]
	if pod.Hash == p.set.Hash {
		s.Updated++
	}
	if pod.Ready {
		s.Ready++
	}
	if p.available(b.all[0]) {
		s.Available++
	}
}

// available reports whether a pod is available. If it is not yet, Wake is set to when it will be.
func (p *daemonPlanner) available(i int) bool {
	ok, at := p.pods[i].Available(p.now, p.set.MinReady)
	p.plan.Wake = order.Earliest(p.plan.Wake, at)
	return ok
}

func (p *daemonPlanner) delete(i int, reason DaemonReason) {
	p.plan.Delete = append(p.plan.Delete, DaemonDelete{i, reason})
}

func (p *daemonPlanner) create(n *DaemonNode) {
	if n.NotBefore.After(p.now) {
		p.plan.Delayed++
		p.plan.Wake = order.Earliest(p.plan.Wake, n.NotBefore)
		return
	}
	p.plan.Create = append(p.plan.Create, n.Name)
}

// reconcileNode plans one pod on an eligible node and none on other nodes.
func (p *daemonPlanner) reconcileNode(b *daemonNodePods) {
	if !b.node.ShouldContinue {
		b.allDeleted = true
		for _, i := range b.all {
			if !p.pods[i].Deleting {
				p.delete(i, DaemonMisplaced)
			}
		}
		return
	}
	if len(b.all) == 0 {
		if b.node.ShouldRun {
			p.create(b.node)
		}
		return
	}
	for _, i := range b.all {
		p.deleteFinished(b.node, i)
	}
	p.deleteExcess(b)
}

// deleteFinished deletes a finished pod so that it can be replaced. A failed pod is kept during its
// backoff, for inspection.
func (p *daemonPlanner) deleteFinished(n *DaemonNode, i int) {
	switch pod := &p.pods[i]; {
	case pod.Deleting:
	case pod.Phase == model.Failed && n.NotBefore.After(p.now):
		p.plan.Delayed++
		p.plan.Wake = order.Earliest(p.plan.Wake, n.NotBefore)
	case pod.Phase == model.Failed:
		p.delete(i, DaemonFailed)
	case pod.Phase == model.Succeeded:
		p.delete(i, DaemonSucceeded)
	}
}
