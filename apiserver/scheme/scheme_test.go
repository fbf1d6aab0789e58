package scheme_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/berthproject/berth/apiserver/kinds"
	"github.com/berthproject/berth/apiserver/scheme"
)

func newSet(t *testing.T) *scheme.Set {
	t.Helper()
	s, err := scheme.New(kinds.All())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestKindsAreRegisteredOnce(t *testing.T) {
	s, seen := newSet(t), map[schema.GroupVersionResource]bool{}
	for _, k := range kinds.All() {
		name := k.GroupVersion.WithResource(k.Resource)
		if seen[name] {
			t.Errorf("%s is in the table twice", name)
		}
		seen[name] = true
		internal := schema.GroupVersionKind{Group: k.GroupVersion.Group, Version: runtime.APIVersionInternal, Kind: k.Kind}
		if !s.Scheme.Recognizes(k.GroupVersionKind()) || !s.Scheme.Recognizes(internal) {
			t.Errorf("%s is not registered in its version and as __internal", k.GroupVersionKind())
		}
		if s.External.Recognizes(internal) {
			t.Errorf("%s: the external scheme has an internal version", k.GroupVersionKind())
		}
	}
}

func TestFieldSelectors(t *testing.T) {
	s := newSet(t).Scheme
	for _, c := range []struct {
		kind        schema.GroupVersionKind
		label, want string
	}{
		{corev1.SchemeGroupVersion.WithKind("Pod"), "spec.host", "spec.nodeName"},
		{corev1.SchemeGroupVersion.WithKind("Pod"), "spec.foo", ""},
		{corev1.SchemeGroupVersion.WithKind("Node"), "spec.unschedulable", "spec.unschedulable"},
		{corev1.SchemeGroupVersion.WithKind("Node"), "metadata.namespace", ""},
		{corev1.SchemeGroupVersion.WithKind("ConfigMap"), "metadata.namespace", "metadata.namespace"},
		{eventsv1.SchemeGroupVersion.WithKind("Event"), "regarding.name", "involvedObject.name"},
		{eventsv1.SchemeGroupVersion.WithKind("Event"), "involvedObject.name", ""},
	} {
		got, _, err := s.ConvertFieldLabel(c.kind, c.label, "x")
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s of %s: got %q, error %v, want %q", c.label, c.kind.Kind, got, err, c.want)
		}
	}
}

// TestEventConversionRoundTrip checks that converting an event to the other version and back is lossless.
func TestEventConversionRoundTrip(t *testing.T) {
	s := newSet(t).Scheme
	event := &eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{Name: "e", Namespace: "n"}, EventTime: metav1.NowMicro(),
		Series:              &eventsv1.EventSeries{Count: 2, LastObservedTime: metav1.NowMicro()},
		ReportingController: "c", ReportingInstance: "i", Action: "a", Reason: "r", Note: "m", Type: "Normal",
		Regarding: corev1.ObjectReference{Kind: "Pod", Name: "p"}, Related: &corev1.ObjectReference{Kind: "Node", Name: "x"},
		DeprecatedSource: corev1.EventSource{Component: "c"}, DeprecatedFirstTimestamp: metav1.Now(), DeprecatedLastTimestamp: metav1.Now(), DeprecatedCount: 3,
	}
	var core corev1.Event
	var result eventsv1.Event
	if err := s.Convert(event, &core, nil); err != nil {
		t.Fatal(err)
	}
	if err := s.Convert(&core, &result, nil); err != nil {
		t.Fatal(err)
	}
	if !equality.Semantic.DeepEqual(event, &result) {
		t.Errorf("got\n%+v\nwant\n%+v", result, event)
	}
}
