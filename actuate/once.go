package actuate

import (
	"context"
	"fmt"
	"hash/fnv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/engine/model"
)

// longestName leaves room in an event's name for what follows the pod's.
const longestName = 253 - 1 - 16

// Once writes an event about a pod that is there at most once, however often it is written and by
// however many processes: its name follows from the pod and the reason. It waits for the
// answer.
func (e *Events) Once(ctx context.Context, p, related *model.Pod, reason, action, note string) error {
	h := fnv.New64a()
	_, _ = h.Write([]byte(p.UID + "\x00" + reason))
	name := p.Name
	if len(name) > longestName {
		name = strings.TrimRight(name[:longestName], "-.")
	}
	ev := &eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: fmt.Sprintf("%s.%x", name, h.Sum64())},
		EventTime:  metav1.NewMicroTime(e.now()), ReportingController: related.Spec.SchedulerName, ReportingInstance: e.instance,
		Action: action, Reason: reason, Type: corev1.EventTypeNormal, Note: Truncate(note),
		Regarding: reference(p),
	}
	other := reference(related)
	ev.Related = &other
	_, err := e.client.EventsV1().Events(p.Namespace).Create(ctx, ev, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

func reference(p *model.Pod) corev1.ObjectReference {
	return corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: p.Namespace, Name: p.Name,
		UID: types.UID(p.UID), ResourceVersion: p.ResourceVersion}
}
