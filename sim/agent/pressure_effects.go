package agent

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/nodepressure"
	"github.com/berthproject/berth/engine/podlifecycle"
	"github.com/berthproject/berth/internal/conversion"
	"github.com/berthproject/berth/sim/store"
)

// applyEffect executes an effect.
func (n *nodePressure) applyEffect(e nodepressure.Effect) {
	switch e := e.(type) {
	case nodepressure.ReclaimNodeResources:
		var resources []string
		if e.Containers {
			resources = append(resources, "dead containers")
		}
		if e.Images {
			resources = append(resources, "unused images")
		}
		n.w.Log("agent", "collect", n.name, n.name+" deletes "+strings.Join(resources, " and "))
		n.w.After(reclaimDuration, func() { n.finishReclaim(e) })
	case nodepressure.Evict:
		n.evict(&e)
	case nodepressure.NoVictim:
		if text := n.name + " is low on " + e.Signal.Resource() + ", but no pod may be evicted"; text != n.lastWarning {
			n.lastWarning = text
			n.w.Log("agent", "unable", n.name, text)
		}
	case nodepressure.ConditionChanged:
		n.lastWarning = ""
	}
}

// reportConditions reports changed conditions in the node's status.
func (n *nodePressure) reportConditions() {
	reported := n.a.nodePressures.reported[n.name]
	for k, c := range n.machine.Conditions() {
		if c.True != reported[k] {
			reported[k] = c.True
			n.a.ReportCondition(n.name, corev1.NodeConditionType(nodepressure.ConditionType(model.Pressure(k))), conditionStatus(c.True))
		}
	}
	n.a.nodePressures.reported[n.name] = reported
}

// finishReclaim passes the usage after a reclaim to the machine.
func (n *nodePressure) finishReclaim(reclaimed nodepressure.ReclaimNodeResources) {
	if n.a.nodePressures.nodes[n.name] != n {
		return
	}
	n.node.Reclaim(n.w.Now(), reclaimed)
	list, _ := n.pods()
	o := n.observe(list)
	for _, e := range n.machine.Reclaimed(n.w.Now(), &o) {
		n.applyEffect(e)
	}
}

// evict terminates a pod. Its status is written when all its containers have terminated.
func (n *nodePressure) evict(e *nodepressure.Evict) {
	p := n.a.pods[types.UID(e.Pod.UID)]
	if p == nil {
		return
	}
	n.w.Log("agent", "evict", e.Pod.Key(), fmt.Sprintf("%s is evicted from %s within %d s: %s", e.Pod.Key(), n.name, e.Grace, strings.TrimSpace(e.Message)))
	if p.evicted == nil {
		p.evicted = e
	}
	immediate := e.Condition && e.Grace <= 1
	if p.terminatesBy = n.w.Now(); !immediate {
		p.terminatesBy = n.w.Now().Add(time.Duration(e.Grace) * time.Second)
	}
	n.a.step(p, podlifecycle.Fail{Reason: nodepressure.ReasonEvicted, Message: e.Message, Grace: time.Duration(e.Grace) * time.Second, KillNow: immediate})
}

// countEviction reports a written eviction once with the notice Evicted, unless another actor displaced the pod
// earlier.
func (a *Agents) countEviction(p *agentPod, status *corev1.PodStatus) {
	if p.evicted == nil || status.Phase != corev1.PodFailed || p.counted {
		return
	}
	p.counted = true
	current := a.w.API().Pod(store.KeyOf(p.object))
	if c := conversion.ActiveDisruptionTarget(current); c != nil && c.Reason != nodepressure.ReasonTerminationByKubelet {
		return
	}
	a.w.Notify(Evicted{Pod: current, HasCondition: p.evicted.Condition})
}

// rejectionOf returns why the node rejects a pod, or nil.
func (n *nodePressure) rejectionOf(p *corev1.Pod) *rejection {
	if ok, reason, message := n.machine.Admit(n.w.Model(p), conversion.PressureTerms(p)); !ok {
		_, conditions, _ := strings.Cut(strings.TrimSuffix(message, "]. "), "[")
		return &rejection{reason, message, conditions}
	}
	if ok, reason, message := n.reserve.Admit(n.w.Now()); !ok {
		return &rejection{reason, message, reason}
	}
	return nil
}
