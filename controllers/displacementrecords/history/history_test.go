package history

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/berthproject/berth/internal/displacer"
	"github.com/berthproject/berth/internal/journal"
)

var baseTime = time.Unix(5000, 0).UTC()

func newEvent(name, reason, pod, note string, change func(*corev1.Event)) *corev1.Event {
	e := &corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, CreationTimestamp: metav1.NewTime(baseTime)}, Reason: reason, Message: note, FirstTimestamp: metav1.NewTime(baseTime),
		InvolvedObject: corev1.ObjectReference{Kind: "Pod", Namespace: "ns", Name: pod, UID: types.UID("uid-" + pod)}}
	if change != nil {
		change(e)
	}
	return e
}

func TestUpstreamEvents(t *testing.T) {
	for name, tc := range map[string]struct {
		event           *corev1.Event
		cause, by, node string
	}{
		"kube-scheduler": {newEvent("a", "Preempted", "p", "Preempted by pod u-9 on node n1", func(e *corev1.Event) {
			e.ReportingController, e.Related = "default-scheduler", &corev1.ObjectReference{Kind: "Pod", Namespace: "ns", Name: "high"}
		}), "Preemption", "default-scheduler", "n1"},
		"the taint manager": {newEvent("b", "TaintManagerEviction", "p", "Marking for deletion Pod ns/p", func(e *corev1.Event) { e.Source.Component = "taint-eviction-controller" }),
			"Taint", "taint-eviction-controller", ""},
		"canceled eviction": {newEvent("c", "TaintManagerEviction", "p", "Cancelling deletion of Pod ns/p", nil), "", "", ""},
		"a kubelet": {newEvent("d", "Evicted", "p", "The node was low on resource: memory.", func(e *corev1.Event) {
			e.Source = corev1.EventSource{Component: "kubelet", Host: "n2"}
		}), "Pressure", "kubelet", "n2"},
		"the descheduler":   {newEvent("e", "Descheduled", "p", "pod eviction from n3 node by sigs.k8s.io/descheduler", func(e *corev1.Event) { e.ReportingController = "descheduler" }), "API", "descheduler", ""},
		"another reason":    {newEvent("f", "Killing", "p", "Stopping container c", nil), "", "", ""},
		"a node":            {newEvent("g", "Evicted", "p", "", func(e *corev1.Event) { e.InvolvedObject.Kind = "Node" }), "", "", ""},
		"another namespace": {newEvent("i", "Evicted", "p", "", func(e *corev1.Event) { e.InvolvedObject.Namespace = "other" }), "", "", ""},
		"a clock that is ahead": {newEvent("j", "Evicted", "p", "", func(e *corev1.Event) {
			e.CreationTimestamp, e.EventTime = metav1.NewTime(baseTime.Add(-time.Second)), metav1.NewMicroTime(baseTime.AddDate(100, 0, 0))
		}), "Pressure", "", ""},
		"a malformed record": {newEvent("h", "Preempted", "p", "", func(e *corev1.Event) { e.Annotations = map[string]string{journal.Annotation: "{}"} }), "", "", ""},
	} {
		d := fromEvent(tc.event)
		if tc.cause == "" {
			if d != nil {
				t.Errorf("%s: record %+v, want none", name, d)
			}
			continue
		}
		if d == nil || d.Cause != tc.cause || d.RequestedBy != tc.by || d.Node != tc.node || !d.Time.Equal(baseTime) || !d.Reconstructed {
			t.Errorf("%s: record %+v, want cause %q, by %q, node %q", name, d, tc.cause, tc.by, tc.node)
		}
	}
}

// TestRecordFromEvent checks that a record is found by the events of a deleted pod, but not that of a pod in another
// namespace.
func TestRecordFromEvent(t *testing.T) {
	recordEvent := func(namespace, podNamespace string) *corev1.Event {
		d := &journal.Displacement{Time: baseTime, Cause: "Taint", Pod: journal.Pod{Namespace: podNamespace, Name: "p", UID: "u"}}
		text, err := d.JSON()
		if err != nil {
			t.Fatal(err)
		}
		return newEvent(displacer.RecordEventName("p", "u"), "TaintManagerEviction", "p", "", func(e *corev1.Event) {
			e.Namespace, e.InvolvedObject.Namespace = namespace, podNamespace
			e.Labels, e.Annotations = map[string]string{journal.Label: "Taint"}, map[string]string{journal.Annotation: text}
		})
	}
	s := Source{Client: fake.NewClientset(recordEvent("ns", "ns"), recordEvent("a", "b"))}
	for _, s.Pod = range []string{"", "p"} {
		list, _, err := s.Read(t.Context())
		if err != nil || len(list) != 1 || list[0].Pod.Namespace != "ns" || list[0].Cause != "Taint" || list[0].Reconstructed {
			t.Errorf("pod %q: records %+v, error %v, want the one of ns/p", s.Pod, list, err)
		}
	}
}

func TestReadMergesRecordsPerPod(t *testing.T) {
	evicted := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p", UID: "uid-p"}, Spec: corev1.PodSpec{NodeName: "n1"},
		Status: corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted", Message: "The node was low on resource: memory.", Conditions: []corev1.PodCondition{
			{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "TerminationByKubelet", LastTransitionTime: metav1.NewTime(baseTime)}}}}
	running := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "stays", UID: "uid-stays"}, Status: corev1.PodStatus{Phase: corev1.PodRunning,
		Conditions: evicted.Status.Conditions}}
	dir := t.TempDir()
	j, err := journal.Open(dir, journal.Options{Writer: "test"})
	if err != nil {
		t.Fatal(err)
	}
	old := &journal.Displacement{Time: baseTime.Add(-48 * time.Hour), Cause: "Taint", Pod: journal.Pod{Namespace: "ns", Name: "old", UID: "uid-old"}}
	otherNamespace := &journal.Displacement{Time: baseTime, Cause: "Taint", Pod: journal.Pod{Namespace: "other", Name: "p", UID: "uid-x"}}
	if err := j.Append(old, otherNamespace); err != nil {
		t.Fatal(err)
	}
	_ = j.Close()
	s := Source{Client: fake.NewClientset(evicted, running, newEvent("d", "Evicted", "p", "The node was low on resource: memory.", func(e *corev1.Event) { e.Source.Component = "kubelet" })),
		Journal: dir, Namespace: "ns"}
	list, malformed, err := s.Read(t.Context())
	if err != nil || len(malformed) > 0 || len(list) != 2 {
		t.Fatalf("%d records, want 2; malformed lines %v, error %v", len(list), malformed, err)
	}
	if p := list[0]; p.Pod.Name != "p" || p.Node != "n1" || p.RequestedBy != "kubelet" || p.Cause != "Pressure" {
		t.Errorf("newest record %+v, want pod p on n1 evicted by the kubelet", p)
	}
	if list[1].Pod.Name != "old" {
		t.Errorf("older record %+v, want pod old", list[1])
	}
	s.Pod = "old"
	if list, _, err = s.Read(t.Context()); err != nil || len(list) != 1 {
		t.Errorf("%d records of one pod, want 1; error %v", len(list), err)
	}
}

// TestAPIIsReadBeforeJournal checks that a rejected request does not read the journal, since the API authenticates
// the user.
func TestAPIIsReadBeforeJournal(t *testing.T) {
	client := fake.NewClientset()
	client.PrependReactor("list", "events", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewUnauthorized("unknown user")
	})
	file := filepath.Join(t.TempDir(), "displacements-1.jsonl")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	source := Source{Client: client, Journal: file} // reading a file as a directory fails
	if _, _, err := source.Read(t.Context()); !apierrors.IsUnauthorized(err) {
		t.Errorf("error %v, want that of the API", err)
	}
}
