package sim

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/sim/store"
)

// room is the account of one node: what pods that we bound there ask for, and what it has had
// lately.
type room struct {
	pods map[types.UID]*model.Requests
	had  []had
}

// had is what a node had until a time; zero: it has it now.
type had struct {
	until time.Time
	node  *model.Node
}

// memory is how long a decision may be under way: what a node has lost within
// this time, a bind may still count on.
const memory = 3 * time.Minute

// settleRooms keeps the accounts, and holds NodeCapacity against each of our binds.
func (a *audit) settleRooms(c store.Change) {
	switch c.Kind {
	case store.Nodes:
		a.settleNode(c)
	case store.Pods:
		old, _ := c.Old.(*corev1.Pod)
		p, _ := c.New.(*corev1.Pod)
		if c.Old != nil && old.Spec.NodeName != "" && (c.New == nil || finished(p)) {
			delete(a.room(old.Spec.NodeName).pods, old.UID)
		}
		if c.New != nil && c.Old != nil && old.Spec.NodeName == "" && p.Spec.NodeName != "" && a.binder != nil {
			r := a.room(p.Spec.NodeName)
			r.pods[p.UID] = &a.w.scheduler.view.Pod(p).Spec.Requests
			if detail := r.over(a.w.now); detail != "" {
				a.fail("NodeCapacity", fmt.Sprintf("with pod %s, node %s has %s", keyOf(p), p.Spec.NodeName, detail))
			}
		}
	}
}

func (a *audit) room(node string) *room {
	r := a.rooms[node]
	if r == nil {
		r = &room{pods: map[types.UID]*model.Requests{}}
		a.rooms[node] = r
	}
	return r
}

func (a *audit) settleNode(c store.Change) {
	r := a.room(c.Object().GetName())
	kept := r.had[:0]
	for _, h := range r.had {
		if h.until.IsZero() {
			h.until = a.w.now.Add(memory)
		}
		if h.until.After(a.w.now) {
			kept = append(kept, h)
		}
	}
	r.had = kept
	if c.New != nil && a.w.scheduler.view != nil {
		if n, ok := a.w.scheduler.view.Compile(c.New).(*model.Node); ok {
			r.had = append(r.had, had{node: n})
		}
	}
}

// over says what is asked for beyond what the node has had lately.
func (r *room) over(now time.Time) string {
	var sum model.Requests
	scalars := map[string]int64{}
	for _, q := range r.pods {
		sum.MilliCPU += q.MilliCPU
		sum.Memory += q.Memory
		sum.Ephemeral += q.Ephemeral
		for _, s := range q.Scalars {
			scalars[s.Name] += s.Amount
		}
	}
	most := func(of func(*model.Node) int64) int64 {
		var m int64
		for _, h := range r.had {
			if h.until.IsZero() || h.until.After(now) {
				m = max(m, of(h.node))
			}
		}
		return m
	}
	check := func(what string, used int64, of func(*model.Node) int64) string {
		if limit := most(of); used > limit {
			return fmt.Sprintf("%d of %d %s in use", used, limit, what)
		}
		return ""
	}
	out := check("milli-cpu", sum.MilliCPU, func(n *model.Node) int64 { return n.Allocatable.MilliCPU })
	out += check("bytes of memory", sum.Memory, func(n *model.Node) int64 { return n.Allocatable.Memory })
	out += check("bytes of ephemeral storage", sum.Ephemeral, func(n *model.Node) int64 { return n.Allocatable.Ephemeral })
	out += check("pods", int64(len(r.pods)), func(n *model.Node) int64 { return n.Pods })
	for _, name := range sortedKeys(scalars) {
		out += check(name, scalars[name], func(n *model.Node) int64 { return n.Allocatable.Scalar(name) })
	}
	return out
}
