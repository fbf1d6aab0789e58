package script

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	policyv1 "k8s.io/api/policy/v1"

	"github.com/berthproject/berth/sim/store"
)

// expectBudget reads the expected status of a budget.
func expectBudget(w *tokens) (func(*run) error, error) {
	name, err := w.name("the budget")
	if err != nil {
		return nil, err
	}
	o, err := w.options("allowed=", "desired=", "healthy=", "expected=", "entries=", "reason=")
	if err != nil {
		return nil, err
	}
	want := map[string]int64{}
	for _, key := range []string{"allowed", "desired", "healthy", "expected", "entries"} {
		if o.has(key) {
			want[key] = o.number(key, 0, -1<<31, 1<<31-1)
		}
	}
	return func(r *run) error {
		object, _ := r.w.API().Get(store.PodDisruptionBudgets, objectKey(store.PodDisruptionBudgets, name))
		b, ok := object.(*policyv1.PodDisruptionBudget)
		if !ok {
			return fmt.Errorf("there is no budget %s", name)
		}
		s := &b.Status
		actual := map[string]int64{"allowed": int64(s.DisruptionsAllowed), "desired": int64(s.DesiredHealthy), "healthy": int64(s.CurrentHealthy),
			"expected": int64(s.ExpectedPods), "entries": int64(len(s.DisruptedPods))}
		for _, key := range o.accepted {
			key = strings.TrimSuffix(key, "=")
			if n, expected := want[key]; expected && actual[key] != n {
				return fmt.Errorf("budget %s has %s=%d, want %d", name, key, actual[key], n)
			}
		}
		if reason := o.values["reason"]; reason != "" && (len(s.Conditions) == 0 || s.Conditions[0].Reason != reason) {
			return fmt.Errorf("budget %s has the conditions %v, want one of reason %s", name, s.Conditions, reason)
		}
		return nil
	}, o.err
}

// expectRecorded reads an expected API event.
func expectRecorded(w *tokens) (func(*run) error, error) {
	reason, err := w.name("the reason")
	if err != nil {
		return nil, err
	}
	name, err := w.name("the object")
	if err != nil {
		return nil, err
	}
	text, _ := w.quoted()
	return func(r *run) error {
		var notes []string
		for _, o := range r.w.API().List(store.Events) {
			e, ok := o.(*eventsv1.Event)
			if !ok || e.Regarding.Name != name {
				continue
			}
			if e.Reason == reason && strings.Contains(e.Note, text) {
				return nil
			}
			notes = append(notes, e.Reason+": "+e.Note)
		}
		return fmt.Errorf("no event of reason %s about %s contains %q; events are %q", reason, name, text, notes)
	}, nil
}

// expectNode reads the expected state of a node.
func expectNode(w *tokens) (func(*run) error, error) {
	name, err := w.name("the node")
	if err != nil {
		return nil, err
	}
	state, err := w.name("the expected state")
	if err != nil {
		return nil, err
	}
	taint := ""
	switch state {
	case "tainted", "untainted":
		if taint, err = w.name("the taint"); err != nil {
			return nil, err
		}
	case "ready", "notready", "unknown":
	default:
		return nil, fmt.Errorf("node state %q: must be one of tainted, untainted, ready, notready, unknown", state)
	}
	return func(r *run) error {
		o, _ := r.w.API().Get(store.Nodes, name)
		n, ok := o.(*corev1.Node)
		if !ok {
			return fmt.Errorf("there is no node %s", name)
		}
		if !nodeMatches(n, state, taint) {
			return fmt.Errorf("node %s has taints %v and conditions %v; want it %s %s", name, n.Spec.Taints, n.Status.Conditions, state, taint)
		}
		return nil
	}, nil
}

func nodeMatches(n *corev1.Node, state, taint string) bool {
	found := false
	for _, t := range n.Spec.Taints {
		key, effect, _ := strings.Cut(taint, ":")
		found = found || t.Key == key && (effect == "" || effect == string(t.Effect))
	}
	ready := corev1.ConditionStatus("")
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			ready = c.Status
		}
	}
	switch state {
	case "tainted":
		return found
	case "untainted":
		return !found
	case "ready":
		return ready == corev1.ConditionTrue
	case "unknown":
		return ready == corev1.ConditionUnknown
	}
	return ready == corev1.ConditionFalse
}
