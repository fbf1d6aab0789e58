package nodeauth

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"

	"github.com/berthproject/berth/internal/journal"
)

// event returns an event with a displacement record, which may be nil.
func event(t *testing.T, record *journal.Displacement) *eventsv1.Event {
	t.Helper()
	e := &eventsv1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "e"}}
	if record == nil {
		return e
	}
	text, err := record.JSON()
	if err != nil {
		t.Fatal(err)
	}
	e.Annotations, e.Labels = map[string]string{journal.Annotation: text}, map[string]string{journal.Label: record.Cause}
	return e
}

// upstreamEvent returns an event of a kubelet about a pod.
func upstreamEvent(reason, host, pod string) *eventsv1.Event {
	return &eventsv1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "e"}, Reason: reason, DeprecatedSource: corev1.EventSource{Host: host},
		Regarding: corev1.ObjectReference{Kind: "Pod", Namespace: "a", Name: pod}}
}

// TestNodeWritesOnlyRecordsAboutItself checks that a compromised node cannot write records about other nodes, pods or
// owners. The Avoid Holds that follow from records would move their pods.
func TestNodeWritesOnlyRecordsAboutItself(t *testing.T) {
	record := func(node, namespace, pod, uid string, owner *journal.Owner) *journal.Displacement {
		return &journal.Displacement{Node: node, Cause: "pressure", Pod: journal.Pod{Namespace: namespace, Name: pod, UID: uid}, Owner: owner}
	}
	local := record("n1", "a", "local", "u", nil)
	broken := event(t, local)
	broken.Annotations[journal.Annotation] = "{"
	noRecord := event(t, nil)
	eventOf := func(d *journal.Displacement) *eventsv1.Event { return event(t, d) }
	check(t, map[string]writeTest{
		"pod of the node":    {write{admission.Create, "events.k8s.io:events", "", eventOf(local), nil, "a"}, ""},
		"core group":         {write{admission.Create, ":events", "", eventOf(record("n2", "a", "local", "u", nil)), nil, "a"}, "records about itself"},
		"without record":     {write{admission.Create, "events.k8s.io:events", "", noRecord, nil, "a"}, ""},
		"other node":         {write{admission.Create, "events.k8s.io:events", "", eventOf(record("n2", "a", "other", "u", nil)), nil, "a"}, "records about itself"},
		"no node":            {write{admission.Create, "events.k8s.io:events", "", eventOf(record("", "a", "other", "u", nil)), nil, "a"}, "records about itself"},
		"other pod":          {write{admission.Create, "events.k8s.io:events", "", eventOf(record("n1", "a", "other", "u", nil)), nil, "a"}, "spec.nodeName set to itself"},
		"other namespace":    {write{admission.Create, "events.k8s.io:events", "", eventOf(record("n1", "b", "local", "u", nil)), nil, "a"}, "namespace of the event"},
		"earlier pod":        {write{admission.Create, "events.k8s.io:events", "", eventOf(record("n1", "a", "local", "old", nil)), nil, "a"}, "existing pods"},
		"no such pod":        {write{admission.Create, "events.k8s.io:events", "", eventOf(record("n1", "a", "none", "u", nil)), nil, "a"}, "existing pods"},
		"other owner":        {write{admission.Create, "events.k8s.io:events", "", eventOf(record("n1", "a", "local", "u", &journal.Owner{Kind: "ReplicaSet", Name: "web", UID: "x"})), nil, "a"}, "owner of the pod"},
		"unreadable":         {write{admission.Create, "events.k8s.io:events", "", broken, nil, "a"}, "annotation berth.dev/displacement"},
		"added later":        {write{admission.Update, "events.k8s.io:events", "e", eventOf(record("n2", "a", "other", "u", nil)), noRecord, "a"}, "records about itself"},
		"overwritten":        {write{admission.Update, "events.k8s.io:events", "e", eventOf(local), eventOf(record("n2", "a", "other", "u", nil)), "a"}, "change displacement records about itself"},
		"removed":            {write{admission.Update, "events.k8s.io:events", "e", noRecord, eventOf(record("n2", "a", "other", "u", nil)), "a"}, "change displacement records about itself"},
		"upstream event":     {write{admission.Create, "events.k8s.io:events", "", upstreamEvent("Evicted", "n1", "local"), nil, "a"}, ""},
		"upstream, deleted":  {write{admission.Create, "events.k8s.io:events", "", upstreamEvent("Evicted", "n1", "none"), nil, "a"}, ""},
		"upstream, node":     {write{admission.Create, ":events", "", upstreamEvent("Evicted", "n2", "none"), nil, "a"}, "displacements from itself"},
		"upstream, pod":      {write{admission.Create, "events.k8s.io:events", "", upstreamEvent("Preempting", "n1", "other"), nil, "a"}, "spec.nodeName set to itself"},
		"upstream, taint":    {write{admission.Create, "events.k8s.io:events", "", upstreamEvent("TaintManagerEviction", "n1", "local"), nil, "a"}, "by other components"},
		"upstream, updated":  {write{admission.Update, "events.k8s.io:events", "e", upstreamEvent("Evicted", "n2", "none"), noRecord, "a"}, "displacements from itself"},
		"core type":          {write{admission.Create, ":events", "", &corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "e"}, Reason: "Evicted", Source: corev1.EventSource{Host: "n2"}}, nil, "a"}, "displacements from itself"},
		"other reason":       {write{admission.Create, "events.k8s.io:events", "", upstreamEvent("Pulled", "n2", "other"), nil, "a"}, ""},
		"record of the node": {write{admission.Update, "events.k8s.io:events", "e", eventOf(local), eventOf(local), "a"}, ""},
	})
}
