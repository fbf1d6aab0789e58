package workload

import (
	"cmp"
	"slices"
	"time"

	"github.com/berthproject/berth/engine/model"
)

// DaemonBurst is how many pods of a DaemonSet one plan makes or deletes at most.
const DaemonBurst = 250

// DaemonSet is what is asked for: one pod on each node where it belongs.
type DaemonSet struct {
	Hash     string // of the template as it is now; pods made of it say so
	OnDelete bool   // old pods stay until somebody deletes them
	// MaxUnavailable and MaxSurge bound a rolling update, as counts; one of them is 0.
	MaxUnavailable, MaxSurge int32
	MinReady                 time.Duration
	Generation               int64
	Deleting                 bool // it is to go: nothing is made or deleted any more
}

// DaemonNode is a node as a DaemonSet sees it.
type DaemonNode struct {
	Name                      string
	ShouldRun, ShouldContinue bool      // one belongs there; one that is there may stay (placement.Belongs)
	NotBefore                 time.Time // no pod is made there before; zero: at once
}

// DaemonPod is a pod of a DaemonSet.
type DaemonPod struct {
	Pod
	Target string // the node that it is for, bound or not
	Hash   string // of the template that it was made of
}

// DaemonReason says why a pod of a DaemonSet goes.
type DaemonReason uint8

// The reasons.
const (
	DaemonMisplaced DaemonReason = iota // it does not belong there, or its node is gone
	DaemonFailed
	DaemonSucceeded
	DaemonExcess   // there is another one on the node
	DaemonOutdated // the rolling update's turn
)

// DaemonDelete is a pod to delete.
type DaemonDelete struct {
	Pod    int // index into the pods that were given
	Reason DaemonReason
}

// DaemonStatus is what there is, in nodes.
type DaemonStatus struct {
	Desired, Current, Misscheduled, Ready, Updated, Available, Unavailable int32
	Observed                                                               int64 // generation
}

// DaemonPlan is what to do now.
type DaemonPlan struct {
	Create  []string // nodes that get a pod, by name
	Delete  []DaemonDelete
	Delayed int // nodes that would get one, if it were not too early
	Status  DaemonStatus
	Wake    time.Time // look again then; zero: never
}

// Plan decides about a DaemonSet with these nodes and pods, in any order. Pods that ended
// and are deleted do not count any more.
func (d *DaemonSet) Plan(now time.Time, nodes []DaemonNode, pods []DaemonPod) DaemonPlan {
	p := &daemonPlanner{set: d, now: now, pods: pods, podsByNode: map[string][]int{}}
	for i := range pods {
		if !(pods[i].Finished() && pods[i].Deleting) {
			p.podsByNode[pods[i].Target] = append(p.podsByNode[pods[i].Target], i)
		}
	}
	nodes = slices.SortedFunc(slices.Values(nodes), func(a, b DaemonNode) int { return cmp.Compare(a.Name, b.Name) })
	groups := make([]daemonNodePods, len(nodes))
	there := make(map[string]bool, len(nodes))
	for i := range nodes {
		there[nodes[i].Name] = true
		groups[i] = p.classify(&nodes[i])
		p.countStatus(&groups[i])
	}
	p.plan.Status.Unavailable = p.plan.Status.Desired - p.plan.Status.Available
	p.plan.Status.Observed = d.Generation
	if d.Deleting {
		return p.plan
	}
	for i := range groups {
		p.reconcileNode(&groups[i])
	}
	for i := range pods {
		if pods[i].Active() && pods[i].Node == "" && !there[pods[i].Target] {
			p.plan.Delete = append(p.plan.Delete, DaemonDelete{i, DaemonMisplaced})
		}
	}
	switch {
	case d.OnDelete:
	case d.MaxSurge > 0:
		p.surgingUpdate(groups)
	default:
		p.rollingUpdate(groups)
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
	podsByNode map[string][]int // pods by the node they are for
	plan       DaemonPlan
}

// daemonNodePods is a node with its pods, as indexes; -1 is none.
type daemonNodePods struct {
	node              *DaemonNode
	all               []int // oldest first, bound ones before those that wait
	terminating       int   // how many are being stopped
	running           []int // neither ended nor being stopped
	updated, outdated int   // those kept of the present template and of older ones
	allDeleted        bool  // all that is there is deleted anyway
}

func (p *daemonPlanner) classify(n *DaemonNode) daemonNodePods {
	b := daemonNodePods{node: n, all: p.podsByNode[n.Name], updated: -1, outdated: -1}
	slices.SortFunc(b.all, func(i, j int) int {
		x, y := &p.pods[i], &p.pods[j]
		return cmp.Or(trueFirst(x.Node != "", y.Node != ""), x.Created.Compare(y.Created), cmp.Compare(x.UID, y.UID))
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

// countStatus adds a node to the status; its oldest pod speaks for it.
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

// available also has the plan made again when the pod will have been ready for long enough.
func (p *daemonPlanner) available(i int) bool {
	ok, at := p.pods[i].Available(p.now, p.set.MinReady)
	p.plan.Wake = earliest(p.plan.Wake, at)
	return ok
}

func (p *daemonPlanner) delete(i int, why DaemonReason) {
	p.plan.Delete = append(p.plan.Delete, DaemonDelete{i, why})
}

// create makes a pod on a node, or waits until it may.
func (p *daemonPlanner) create(n *DaemonNode) {
	if n.NotBefore.After(p.now) {
		p.plan.Delayed++
		p.plan.Wake = earliest(p.plan.Wake, n.NotBefore)
		return
	}
	p.plan.Create = append(p.plan.Create, n.Name)
}

// reconcileNode sees to it that one pod is there where one belongs, and none elsewhere.
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
		p.deleteEnded(b.node, i)
	}
	p.deleteExcess(b)
}

// deleteEnded deletes a pod that ended, so that another can be made. One that failed is left to be
// seen until then.
func (p *daemonPlanner) deleteEnded(n *DaemonNode, i int) {
	switch pod := &p.pods[i]; {
	case pod.Deleting:
	case pod.Phase == model.Failed && n.NotBefore.After(p.now):
		p.plan.Delayed++
		p.plan.Wake = earliest(p.plan.Wake, n.NotBefore)
	case pod.Phase == model.Failed:
		p.delete(i, DaemonFailed)
	case pod.Phase == model.Succeeded:
		p.delete(i, DaemonSucceeded)
	}
}
