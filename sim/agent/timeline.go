package agent

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/agent"
	"github.com/berthproject/berth/engine/nodepressure"
	"github.com/berthproject/berth/internal/conversion"
	"github.com/berthproject/berth/sim/store"
)

// logChange logs what a request of the agent has changed, and notifies about displaced pods.
func (m *machine) logChange(before, after store.Object) {
	switch old := before.(type) {
	case *corev1.Node:
		if n, ok := after.(*corev1.Node); ok {
			m.logConditions(old, n)
		}
	case *corev1.Pod:
		if after == nil {
			m.a.w.Log("agent", "delete", store.KeyOf(old), store.KeyOf(old)+" is deleted from "+m.name)
		} else if p, ok := after.(*corev1.Pod); ok && p.Status.Phase != old.Status.Phase {
			m.logPhase(old, p)
		}
	}
}

// logPhase logs a changed phase of a pod.
func (m *machine) logPhase(old, p *corev1.Pod) {
	key, action := store.KeyOf(p), string(p.Status.Phase)
	switch p.Status.Phase {
	case corev1.PodRunning:
		m.a.w.Log("agent", action, key, key+" runs on "+m.name)
	case corev1.PodSucceeded:
		m.a.w.Log("agent", action, key, key+" has succeeded on "+m.name)
	case corev1.PodFailed:
		if message, rejected := strings.CutPrefix(p.Status.Message, agent.RejectionPrefix); rejected {
			m.a.w.Log("agent", "reject", key, fmt.Sprintf("%s is rejected by %s, which has %s", key, m.name, rejectionCause(p.Status.Reason, message)))
			return
		}
		m.a.w.Log("agent", action, key, key+" has failed on "+m.name)
		m.notifyEviction(old, p)
	}
}

// rejectionCause returns why a node rejects a pod: its conditions, or the resource that it lacks.
func rejectionCause(reason, message string) string {
	switch reason {
	case nodepressure.ReasonEvicted:
		list, _ := nodepressure.RejectingConditions(message)
		return strings.Join(list, " ")
	case nodepressure.ReasonOutOfDisk:
		return reason
	}
	return "insufficient resources: " + reason
}

// notifyEviction notifies about a pod that the node evicted, unless another actor has displaced the pod before.
func (m *machine) notifyEviction(old, p *corev1.Pod) {
	if p.Status.Reason != nodepressure.ReasonEvicted {
		return
	}
	if c := conversion.ActiveDisruptionTarget(old); c != nil && c.Reason != nodepressure.ReasonTerminationByKubelet {
		return
	}
	c := conversion.ActiveDisruptionTarget(p)
	m.a.w.Notify(Evicted{Pod: p, HasCondition: c != nil && c.Reason == nodepressure.ReasonTerminationByKubelet})
}

// logConditions logs changed conditions of the node. A condition that is added with the status False is not a change.
func (m *machine) logConditions(old, n *corev1.Node) {
	for i := range n.Status.Conditions {
		c := &n.Status.Conditions[i]
		if previous := store.NodeConditionStatus(old, c.Type); previous != c.Status && (previous != "" || c.Status == corev1.ConditionTrue) {
			m.a.w.Log("agent", "condition", n.Name, fmt.Sprintf("node %s has %s=%s", n.Name, c.Type, c.Status))
		}
	}
}

// logEffect logs an effect of the node pressure.
func (m *machine) logEffect(_ string, e nodepressure.Effect) {
	switch e := e.(type) {
	case nodepressure.ReclaimNodeResources:
		var resources []string
		if e.Containers {
			resources = append(resources, "dead containers")
		}
		if e.Images {
			resources = append(resources, "unused images")
		}
		m.a.w.Log("agent", "collect", m.name, m.name+" deletes "+strings.Join(resources, " and "))
	case nodepressure.Evict:
		m.a.w.Log("agent", "evict", e.Pod.Key(), fmt.Sprintf("%s is evicted from %s within %d s: %s", e.Pod.Key(), m.name, e.Grace, strings.TrimSpace(e.Message)))
	case nodepressure.NoVictim:
		if text := m.name + " is low on " + e.Signal.Resource() + ", but no pod may be evicted"; text != m.lastWarning {
			m.lastWarning = text
			m.a.w.Log("agent", "unable", m.name, text)
		}
	case nodepressure.ConditionChanged:
		m.lastWarning = ""
	}
}

// logInvalidAnnotation logs once that an annotation of a pod or of the node is invalid.
func (m *machine) logInvalidAnnotation(o metav1.Object, message string) {
	name := store.Key(o.GetNamespace(), o.GetName())
	text := name + ": " + message
	if o.GetNamespace() == "" {
		text = "node " + text
	}
	if m.invalidAnnotations[text] {
		return
	}
	if m.invalidAnnotations == nil {
		m.invalidAnnotations = map[string]bool{}
	}
	m.invalidAnnotations[text] = true
	m.a.w.Log("agent", "usage", name, text)
}

// EvictForPressure makes a node evict a pod for memory, ephemeral-storage or pids. It does not change the node's conditions.
// It reports whether it did: the pod must be on a node whose agent is running and connected.
func (a *Agents) EvictForPressure(key, resource string) bool {
	p := a.w.API().Pod(key)
	if p == nil || p.Spec.NodeName == "" || store.Finished(p) || a.IsSilent(p.Spec.NodeName) {
		return false
	}
	m := a.findMachine(p.Spec.NodeName)
	if m == nil || m.process == nil {
		return false
	}
	text := nodepressure.EvictionMessagePrefix + resource + ". "
	condition := conversion.NewDisruptionTarget(nodepressure.ReasonTerminationByKubelet, text, a.w.Now())
	a.w.Log("agent", "evict", key, fmt.Sprintf("%s is evicted by %s, which is low on %s", key, m.name, resource))
	m.enter(func() {
		m.process.agent.Evict(agent.Eviction{Pod: p.UID, Reason: nodepressure.ReasonEvicted, Message: text, Immediate: true, Condition: &condition})
	})
	return true
}
