package displacement

import (
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	enginedisplacement "github.com/berthproject/berth/engine/displacement"
	"github.com/berthproject/berth/internal/displacer"
	"github.com/berthproject/berth/internal/journal"
	"github.com/berthproject/berth/sim"
)

// CreateRecordEvent creates the event with the displacement record, once per pod.
func CreateRecordEvent(w *sim.World, r *enginedisplacement.Record, writer string) error {
	rec := journal.NewDisplacement(r, w.Now(), writer)
	text, err := rec.JSON()
	if err != nil {
		return err
	}
	reason, action := r.Cause.Event()
	err = w.API().Create(&eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: r.Victim.Namespace, Name: displacer.RecordEventName(r.Victim.Name, r.Victim.UID),
			Annotations: map[string]string{journal.Annotation: text}},
		EventTime: metav1.NewMicroTime(w.Now()), ReportingController: writer, Reason: reason, Action: action, Type: corev1.EventTypeNormal, Note: r.EventNote(),
		Regarding: corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: r.Victim.Namespace, Name: r.Victim.Name, UID: types.UID(r.Victim.UID)},
	})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}
