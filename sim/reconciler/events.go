package reconciler

import (
	"cmp"
	"fmt"
	"hash/fnv"

	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/tools/reference"

	"github.com/berthproject/berth/sim"
)

// discardEvents is a recorder that drops events. It implements record.EventRecorder.
type discardEvents struct{}

// Event implements record.EventRecorder.
func (discardEvents) Event(runtime.Object, string, string, string) {}

// Eventf implements record.EventRecorder.
func (discardEvents) Eventf(runtime.Object, string, string, string, ...any) {}

// AnnotatedEventf implements record.EventRecorder.
func (discardEvents) AnnotatedEventf(runtime.Object, map[string]string, string, string, string, ...any) {
}

// storedEvents is a recorder that stores events. It implements record.EventRecorder.
type storedEvents struct {
	discardEvents
	w         *sim.World
	component string
}

// StoredEvents returns a recorder of a component that stores events, equal ones once. Like the recorder of client-go,
// it works in the background: its requests do not belong to the process and have no faults.
func (p *Process) StoredEvents(component string) record.EventRecorder {
	return storedEvents{w: p.actor.w, component: component}
}

// Event implements record.EventRecorder.
func (s storedEvents) Event(o runtime.Object, eventType, reason, note string) {
	ref, err := reference.GetReference(scheme.Scheme, o)
	if err != nil {
		panic(err) // an object without a kind is a programming error
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(string(ref.UID) + "\x00" + reason + "\x00" + note))
	_ = s.w.API().Create(&eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: cmp.Or(ref.Namespace, metav1.NamespaceDefault), Name: fmt.Sprintf("%s.%x", ref.Name, h.Sum64())},
		EventTime:  metav1.NewMicroTime(s.w.Now()), ReportingController: s.component, Reason: reason, Type: eventType, Note: note,
		Regarding: *ref,
	}) // an equal event exists already
}

// Eventf implements record.EventRecorder.
func (s storedEvents) Eventf(o runtime.Object, eventType, reason, format string, values ...any) {
	s.Event(o, eventType, reason, fmt.Sprintf(format, values...))
}
