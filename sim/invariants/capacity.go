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

// nodeUsage is the usage of a node: the requests of the pods bound by the scheduler, and recent versions of the node.
type nodeUsage struct {
	pods     map[types.UID]amounts
	used     amounts
	versions []nodeVersion
}

// nodeVersion is a version of a node. No bind may rely on it after until, which is zero if it is current.
type nodeVersion struct {
	until       time.Time
	allocatable amounts
}

func (v *nodeVersion) isValid(now time.Time) bool { return v.until.IsZero() || v.until.After(now) }

// versionRetention is how long a bind may rely on an earlier version of a node.
const versionRetention = 3 * time.Minute

// amounts are resources by name with unit.
type amounts map[string]int64

func newAmounts(r *model.Resources, pods int64) amounts {
	out := amounts{"milli-cpu": r.MilliCPU, "bytes of memory": r.Memory, "bytes of ephemeral storage": r.Ephemeral, "pods": pods}
	for _, s := range r.Scalars {
		out[s.Name] = s.Amount
	}
	return out
}

// add adds other amounts, multiplied by factor.
func (a amounts) add(other amounts, factor int64) {
	for name, n := range other {
		a[name] += factor * n
	}
}

// checkNodeCapacity updates the usages and checks NodeCapacity for each bind of the scheduler.
func (a *Checker) checkNodeCapacity(c store.Change) {
	switch c.Kind {
	case store.Nodes:
		a.recordNodeVersion(c)
	case store.Pods:
		old, _ := c.Old.(*corev1.Pod)
		p, _ := c.New.(*corev1.Pod)
		if old != nil && old.Spec.NodeName != "" && (p == nil || store.Finished(p)) {
			u := a.usageOf(old.Spec.NodeName)
			u.used.add(u.pods[old.UID], -1)
			delete(u.pods, old.UID)
		}
		if p != nil && old != nil && old.Spec.NodeName == "" && p.Spec.NodeName != "" && a.w.Requester() == "scheduler" {
			u := a.usageOf(p.Spec.NodeName)
			u.pods[p.UID] = newAmounts(&a.w.Model(p).Spec.Requests, 1)
			u.used.add(u.pods[p.UID], 1)
			if detail := u.exceeded(a.w.Now()); detail != "" {
				a.failf("NodeCapacity", "with pod %s, node %s has %s", store.KeyOf(p), p.Spec.NodeName, detail)
			}
		}
	}
}

func (a *Checker) usageOf(node string) *nodeUsage {
	if a.nodes[node] == nil {
		a.nodes[node] = &nodeUsage{pods: map[types.UID]amounts{}, used: amounts{}}
	}
	return a.nodes[node]
}

func (a *Checker) recordNodeVersion(c store.Change) {
	u, now := a.usageOf(c.Object().GetName()), a.w.Now()
	for i := range u.versions {
		if v := &u.versions[i]; v.until.IsZero() {
			v.until = now.Add(versionRetention)
		}
	}
	u.versions = slices.DeleteFunc(u.versions, func(v nodeVersion) bool { return !v.isValid(now) })
	if c.New == nil {
		return
	}
	if n, ok := a.w.Converter().Convert(c.New).(*model.Node); ok {
		u.versions = append(u.versions, nodeVersion{allocatable: newAmounts(&n.Allocatable, n.AllocatablePods)})
	}
}

// exceeded describes requests that exceed all recent versions of the node, or returns "".
func (u *nodeUsage) exceeded(now time.Time) string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(u.used)) {
		var limit int64
		for _, v := range u.versions {
			if v.isValid(now) {
				limit = max(limit, v.allocatable[name])
			}
		}
		if used := u.used[name]; used > limit {
			out = append(out, fmt.Sprintf("%d of %d %s in use", used, limit, name))
		}
	}
	return strings.Join(out, ", ")
}
