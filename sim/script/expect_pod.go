package script

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/berthproject/berth/internal/conversion"
	"github.com/berthproject/berth/sim/store"
)

// deprecatedPodStates maps former names of pod states to the current ones.
var deprecatedPodStates = map[string]string{"held": "gated", "gone": "deleted", "deleting": "terminating"}

// expectPod reads the expected state of a pod.
func expectPod(w *tokens) func(*run) error {
	name, state := w.name("the pod"), currentName(deprecatedPodStates, w.name("the expected state"))
	argument, text := "", ""
	switch state {
	case "on", "nominated", "disrupted":
		argument = w.name("the node, or the reason")
	case "pending", "failed":
		text, _ = w.quoted()
	case "bound", "gated", "deleted", "running", "succeeded", "terminating", "ready", "unready":
	default:
		w.failf("pod state %q: must be one of on, bound, pending, nominated, running, succeeded, failed, gated, terminating, deleted, disrupted, ready, unready", state)
	}
	return func(r *run) error {
		p := get[*corev1.Pod](r, name)
		if p == nil {
			if state == "deleted" {
				return nil
			}
			return fmt.Errorf("pod %s does not exist, want it %s", name, state)
		}
		if !podMatches(p, state, argument, text) {
			return fmt.Errorf("pod %s is %s; want it %s", name, describePod(p), strings.TrimSpace(state+" "+argument+text))
		}
		return nil
	}
}

// podMatches reports whether a pod is in a state. The argument is the node or the reason of the
// state; text is part of a message.
func podMatches(p *corev1.Pod, state, argument, text string) bool {
	c := podScheduled(p)
	switch state {
	case "on":
		return p.Spec.NodeName == argument
	case "bound":
		return p.Spec.NodeName != ""
	case "nominated":
		return p.Spec.NodeName == "" && p.Status.NominatedNodeName == argument
	case "pending":
		return p.Spec.NodeName == "" && strings.Contains(c.Message, text)
	case "failed":
		return p.Status.Phase == corev1.PodFailed && strings.Contains(p.Status.Message, text)
	case "gated":
		return p.Spec.NodeName == "" && c.Reason == corev1.PodReasonSchedulingGated
	case "terminating":
		return p.DeletionTimestamp != nil
	case "ready", "unready":
		return store.PodReady(p) == (state == "ready")
	case "disrupted":
		c := conversion.ActiveDisruptionTarget(p)
		return c != nil && c.Reason == argument
	}
	return strings.EqualFold(string(p.Status.Phase), state)
}

// podScheduled returns the condition PodScheduled; it is empty if the pod has none.
func podScheduled(p *corev1.Pod) corev1.PodCondition {
	if i := slices.IndexFunc(p.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodScheduled }); i >= 0 {
		return p.Status.Conditions[i]
	}
	return corev1.PodCondition{}
}

// describePod describes the state of a pod.
func describePod(p *corev1.Pod) string {
	s := strings.ToLower(string(p.Status.Phase))
	if p.Status.Message != "" {
		s += fmt.Sprintf(" (%s: %s)", p.Status.Reason, p.Status.Message)
	}
	if p.Spec.NodeName != "" {
		s += " on " + p.Spec.NodeName
	} else if c := podScheduled(p); c.Message != "" {
		s += fmt.Sprintf(" (%s: %s)", c.Reason, c.Message)
	}
	if p.Status.NominatedNodeName != "" {
		s += ", nominated to " + p.Status.NominatedNodeName
	}
	if p.DeletionTimestamp != nil {
		s += ", being deleted"
	}
	return s
}
