package records

import (
	"context"
	"errors"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"github.com/berthproject/berth/actuate"
	"github.com/berthproject/berth/engine/displace"
	"github.com/berthproject/berth/internal/journal"
)

// seePod takes in that a pod came, changed or went.
func (k *keeper) seePod(old, now *corev1.Pod) {
	p := now
	if now == nil {
		p = old
	}
	if displaced(p, now == nil) && k.now().Sub(when(p)) < tooOld {
		k.mu.Lock()
		k.pending[string(p.UID)] = p
		k.mu.Unlock()
		k.tells.AddAfter(string(p.UID), k.settle)
	}
	of := owner{p.Namespace, "pod/" + string(p.UID)}
	if c := metav1.GetControllerOfNoCopy(p); c != nil {
		of.uid = string(c.UID)
	}
	id := journal.Pod{Namespace: p.Namespace, Name: p.Name, UID: string(p.UID)}.ID()
	k.mu.Lock()
	waits := len(k.open[of]) > 0
	if k.open[of][id] && (now == nil || ended(p)) && k.left[id].IsZero() {
		k.left[id] = k.now().UTC().Truncate(time.Second)
	}
	k.mu.Unlock()
	if waits {
		k.owners.AddAfter(of, k.gather)
	}
}

// cause is why a pod is displaced, as its status tells.
func cause(p *corev1.Pod) displace.Cause {
	reason := ""
	if c := condition(p, corev1.DisruptionTarget); c != nil && c.Status == corev1.ConditionTrue {
		reason = c.Reason
	}
	if reason == "" && p.Status.Phase != corev1.PodFailed {
		return displace.None
	}
	return displace.Told(reason, p.Status.Reason, p.Status.Message)
}

// displaced says whether a pod is leaving, or has left, because somebody wanted that. The condition
// alone says only that it may come to that.
func displaced(p *corev1.Pod, gone bool) bool {
	leaves := gone || p.DeletionTimestamp != nil || p.Status.Phase == corev1.PodFailed
	return leaves && cause(p) != displace.None
}

// when is when a displaced pod was displaced, as far as it tells.
func when(p *corev1.Pod) time.Time {
	for _, t := range []corev1.PodConditionType{corev1.DisruptionTarget, corev1.ContainersReady, corev1.PodReady} {
		if c := condition(p, t); c != nil && !c.LastTransitionTime.IsZero() {
			return c.LastTransitionTime.Time
		}
	}
	if p.DeletionTimestamp != nil {
		grace := int64(0)
		if p.DeletionGracePeriodSeconds != nil {
			grace = *p.DeletionGracePeriodSeconds
		}
		return p.DeletionTimestamp.Add(-time.Duration(grace) * time.Second)
	}
	return p.CreationTimestamp.Time
}

func condition(p *corev1.Pod, t corev1.PodConditionType) *corev1.PodCondition {
	for i := range p.Status.Conditions {
		if p.Status.Conditions[i].Type == t {
			return &p.Status.Conditions[i]
		}
	}
	return nil
}

// tell writes the record of a pod that has none.
func (k *keeper) tell(ctx context.Context, uid string) (time.Duration, error) {
	k.mu.Lock()
	p := k.pending[uid]
	k.mu.Unlock()
	if p == nil {
		return 0, nil
	}
	if _, there, _ := k.records.GetByKey(p.Namespace + "/" + actuate.RecordName(p.Name, uid)); !there {
		rec := guess(p)
		reason, action := cause(p).Event()
		if _, err := k.door.Event(ctx, rec, nil, reason, action, note(rec)); err != nil {
			if !refused(err) && k.now().Sub(when(p)) < tooOld {
				return 0, err
			}
			if !apierrors.IsForbidden(err) && !apierrors.IsNotFound(err) { // else the namespace goes
				k.o.Log.Error(err, "A displaced pod has no event; its record is in the journal alone, if there is one", "pod", klog.KObj(p))
			}
			if err := k.write(rec); err != nil {
				return 0, err
			}
		}
	}
	k.mu.Lock()
	delete(k.pending, uid)
	k.mu.Unlock()
	return 0, nil
}

// refused says whether the server answered that it takes a write not now and not later. Credentials are
// renewed, conflicts and crowds pass.
func refused(err error) bool {
	var s apierrors.APIStatus
	if !errors.As(err, &s) {
		return false
	}
	switch code := s.Status().Code; code {
	case http.StatusUnauthorized, http.StatusRequestTimeout, http.StatusConflict, http.StatusTooManyRequests:
		return false
	default:
		return code >= 400 && code < 500
	}
}

// Guess is the record of a displacement as the pod alone tells it; nil when it tells of none.
func Guess(p *corev1.Pod) *journal.Displacement {
	if !displaced(p, false) {
		return nil
	}
	return guess(p)
}

func guess(p *corev1.Pod) *journal.Displacement {
	rec := actuate.RecordOf(p, cause(p), when(p), component)
	rec.Afterwards = true
	rec.Message, rec.Rule = p.Status.Message, ""
	if c := condition(p, corev1.DisruptionTarget); c != nil && c.Status == corev1.ConditionTrue {
		rec.Reason = c.Reason
		if c.Message != "" {
			rec.Message = c.Message
		}
		if p.Status.Message != "" && p.Status.Message != c.Message {
			rec.Rule = p.Status.Message
		}
	} else {
		rec.Reason = p.Status.Reason
	}
	rec.GraceSeconds = p.DeletionGracePeriodSeconds
	return rec
}

// note is what an event says of a record that was written afterwards.
func note(rec *journal.Displacement) string {
	text := "Displaced"
	if rec.Node != "" {
		text += " from node " + rec.Node
	}
	if rec.Message != "" {
		text += ": " + rec.Message
	}
	return text
}
