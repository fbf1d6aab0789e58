package invariants

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/sim/store"
)

// nodeUsage is the usage of a node: the requests of the pods bound by the scheduler, and
// recent versions of the node.
type nodeUsage struct {
	pods     map[types.UID]*model.Resources
	versions []nodeVersion
}

// nodeVersion is a version of a node. No bind may rely on it after until, which is zero if it is current.
type nodeVersion struct {
	until time.Time
	node  *model.Node
}

// versionRetention is how long a bind may rely on an earlier version of a node.
const versionRetention = 3 * time.Minute

// checkNodeCapacity updates the usages and checks NodeCapacity for each bind of the scheduler.
func (a *Checker) checkNodeCapacity(c store.Change) {
	switch c.Kind {
	case store.Nodes:
		a.recordNodeVersion(c)
	case store.Pods:
		old, _ := c.Old.(*corev1.Pod)
		p, _ := c.New.(*corev1.Pod)
		if c.Old != nil && old.Spec.NodeName != "" && (c.New == nil || store.Finished(p)) {
			delete(a.usageOf(old.Spec.NodeName).pods, old.UID)
		}
		if c.New != nil && c.Old != nil && old.Spec.NodeName == "" && p.Spec.NodeName != "" && a.w.Requester() == "scheduler" {
			r := a.usageOf(p.Spec.NodeName)
			r.pods[p.UID] = &a.w.Model(p).Spec.Requests
			if detail := r.exceeded(a.w.Now()); detail != "" {
				a.w.Fail("NodeCapacity", fmt.Sprintf("with pod %s, node %s has %s", store.KeyOf(p), p.Spec.NodeName, detail))
			}
		}
	}
}

func (a *Checker) usageOf(node string) *nodeUsage {
	r := a.nodes[node]
	if r == nil {
		r = &nodeUsage{pods: map[types.UID]*model.Resources{}}
		a.nodes[node] = r
	}
	return r
}

func (a *Checker) recordNodeVersion(c store.Change) {
	r := a.usageOf(c.Object().GetName())
	retained := r.versions[:0]
	for _, h := range r.versions {
		if h.until.IsZero() {
			h.until = a.w.Now().Add(versionRetention)
		}
		if h.until.After(a.w.Now()) {
			retained = append(retained, h)
		}
	}
	r.versions = retained
	if c.New == nil {
		return
	}
	if n, ok := a.w.Converter().Convert(c.New).(*model.Node); ok {
		r.versions = append(r.versions, nodeVersion{node: n})
	}
}

// exceeded describes requests that exceed all recent versions of the node, or returns "".
func (r *nodeUsage) exceeded(now time.Time) string {
	var sum model.Resources
	scalars := map[string]int64{}
	for _, q := range r.pods {
		sum.MilliCPU += q.MilliCPU
		sum.Memory += q.Memory
		sum.Ephemeral += q.Ephemeral
		for _, s := range q.Scalars {
			scalars[s.Name] += s.Amount
		}
	}
	highest := func(amount func(*model.Node) int64) int64 {
		var m int64
		for _, h := range r.versions {
			if h.until.IsZero() || h.until.After(now) {
				m = max(m, amount(h.node))
			}
		}
		return m
	}
	var out []string
	check := func(unit string, used int64, amount func(*model.Node) int64) {
		if limit := highest(amount); used > limit {
			out = append(out, fmt.Sprintf("%d of %d %s in use", used, limit, unit))
		}
	}
	check("milli-cpu", sum.MilliCPU, func(n *model.Node) int64 { return n.Allocatable.MilliCPU })
	check("bytes of memory", sum.Memory, func(n *model.Node) int64 { return n.Allocatable.Memory })
	check("bytes of ephemeral storage", sum.Ephemeral, func(n *model.Node) int64 { return n.Allocatable.Ephemeral })
	check("pods", int64(len(r.pods)), func(n *model.Node) int64 { return n.AllocatablePods })
	for _, name := range slices.Sorted(maps.Keys(scalars)) {
		check(name, scalars[name], func(n *model.Node) int64 { return n.Allocatable.Scalar(name) })
	}
	return strings.Join(out, ", ")
}
