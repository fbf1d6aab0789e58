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

// createEventOnce creates an event at most once: its name is derived from the object, the
// reason and the mark.
func createEventOnce(w *sim.World, about store.Object, component, reason, action, note, mark string) error {
	h := fnv.New64a()
	_, _ = h.Write([]byte(string(about.GetUID()) + "\x00" + reason + "\x00" + mark))
	err := w.API().Create(&eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: cmp.Or(about.GetNamespace(), metav1.NamespaceDefault), Name: fmt.Sprintf("%s.%x", about.GetName(), h.Sum64())},
		EventTime:  metav1.NewMicroTime(w.Now()), ReportingController: component, Reason: reason, Action: action, Type: corev1.EventTypeNormal, Note: note,
		Regarding: corev1.ObjectReference{Kind: string(store.KindOf(about)), Namespace: about.GetNamespace(), Name: about.GetName(), UID: about.GetUID()},
	})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}
