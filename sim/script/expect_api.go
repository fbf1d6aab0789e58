package script

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	policyv1 "k8s.io/api/policy/v1"

	"github.com/berthproject/berth/controllers/endpoints"
	"github.com/berthproject/berth/sim/store"
)

// statuses are the words of an expected status, by kind, and the functions that return the actual values in the order of the
// words, or nil if the object does not exist.
var statuses = map[string]struct {
	words  []string
	values func(r *run, name string) []any
}{
	"budget": {[]string{"allowed", "desired", "healthy", "expected", "entries", "reason"}, func(r *run, name string) []any {
		b := get[*policyv1.PodDisruptionBudget](r, name)
		if b == nil {
			return nil
		}
		s, reason := &b.Status, ""
		if len(s.Conditions) > 0 {
			reason = s.Conditions[0].Reason
		}
		return []any{s.DisruptionsAllowed, s.DesiredHealthy, s.CurrentHealthy, s.ExpectedPods, len(s.DisruptedPods), reason}
	}},
	"service": {[]string{"ready", "terminating", "serving"}, func(r *run, name string) []any {
		if get[*corev1.Service](r, name) == nil {
			return nil
		}
		n := endpoints.Count(r.w.API().EndpointSlices(objectKey(store.Services, name)))
		return []any{n.Ready, n.Terminating, n.ServingTerminating}
	}},
	"replicaset": {[]string{"replicas", "ready", "terminating"}, func(r *run, name string) []any {
		s := get[*appsv1.ReplicaSet](r, name)
		if s == nil {
			return nil
		}
		var terminating int32
		if s.Status.TerminatingReplicas != nil {
			terminating = *s.Status.TerminatingReplicas
		}
		return []any{s.Status.Replicas, s.Status.ReadyReplicas, terminating}
	}},
}

// expectStatus reads an object's name and its expected status.
func expectStatus(w *tokens, kind string) func(*run) error {
	status := statuses[kind]
	name := w.name("the " + kind)
	o := w.options(strings.Split(strings.Join(status.words, "= ")+"=", " ")...)
	if len(o.values) == 0 {
		w.failf("%s %s: must have an expected value of %s", kind, name, strings.Join(o.accepted, " "))
	}
	for word := range o.values {
		if word != "reason" {
			o.values[word] = strconv.FormatInt(o.value(word).number(-1<<31, 1<<31-1), 10)
		}
	}
	return func(r *run) error {
		actual := status.values(r, name)
		if actual == nil {
			return fmt.Errorf("there is no %s %s", kind, name)
		}
		for i, word := range status.words {
			if got := fmt.Sprint(actual[i]); o.has(word) && got != o.values[word] {
				return fmt.Errorf("%s %s has %s=%s, want %s", kind, name, word, got, o.values[word])
			}
		}
		return nil
	}
}

// expectRecorded reads an expected API event.
func expectRecorded(w *tokens) func(*run) error {
	reason, name := w.name("the reason"), w.name("the object")
	text, _ := w.quoted()
	return func(r *run) error {
		var notes []string
		for e := range store.All[*eventsv1.Event](r.w.API()) {
			if e.Regarding.Name != name {
				continue
			}
			if e.Reason == reason && strings.Contains(e.Note, text) {
				return nil
			}
			notes = append(notes, e.Reason+": "+e.Note)
		}
		return fmt.Errorf("no event of reason %s about %s contains %q; events are %q", reason, name, text, notes)
	}
}

// expectNode reads the expected state of a node.
func expectNode(w *tokens) func(*run) error {
	name, state, taint := w.name("the node"), w.name("the expected state"), ""
	switch state {
	case "tainted", "untainted":
		taint = w.name("the taint")
	case "ready", "notready", "unknown":
	default:
		w.failf("node state %q: must be one of tainted, untainted, ready, notready, unknown", state)
	}
	return func(r *run) error {
		n := get[*corev1.Node](r, name)
		if n == nil {
			return fmt.Errorf("there is no node %s", name)
		}
		if !nodeMatches(n, state, taint) {
			return fmt.Errorf("node %s has taints %v and conditions %v; want it %s %s", name, n.Spec.Taints, n.Status.Conditions, state, taint)
		}
		return nil
	}
}

func nodeMatches(n *corev1.Node, state, taint string) bool {
	key, effect, _ := strings.Cut(taint, ":")
	isTainted := slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == key && (effect == "" || effect == string(t.Effect)) })
	ready := store.NodeConditionStatus(n, corev1.NodeReady)
	return map[string]bool{"tainted": isTainted, "untainted": !isTainted,
		"ready": ready == corev1.ConditionTrue, "notready": ready == corev1.ConditionFalse, "unknown": ready == corev1.ConditionUnknown}[state]
}
