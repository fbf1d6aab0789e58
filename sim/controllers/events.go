package controllers

import (
	"cmp"
	"fmt"
	"hash/fnv"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/sim"
	"github.com/berthproject/berth/sim/store"
)

// createEventOnce creates an event at most once: its name is derived from the object, the reason and
// the key.
func createEventOnce(w *sim.World, object store.Object, component, reason, action, note, key string) error {
	h := fnv.New64a()
	_, _ = h.Write([]byte(string(object.GetUID()) + "\x00" + reason + "\x00" + key))
	err := w.API().Create(&eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: cmp.Or(object.GetNamespace(), metav1.NamespaceDefault), Name: fmt.Sprintf("%s.%x", object.GetName(), h.Sum64())},
		EventTime:  metav1.NewMicroTime(w.Now()), ReportingController: component, Reason: reason, Action: action, Type: corev1.EventTypeNormal, Note: note,
		Regarding: corev1.ObjectReference{Kind: string(store.KindOf(object)), Namespace: object.GetNamespace(), Name: object.GetName(), UID: object.GetUID()},
	})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}
