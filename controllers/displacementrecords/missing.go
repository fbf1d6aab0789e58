package displacementrecords

import (
	"context"
	"errors"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"github.com/berthproject/berth/engine/displacement"
	"github.com/berthproject/berth/executor"
	"github.com/berthproject/berth/internal/journal"
)

// onPod takes in that a pod came, changed or went.
func (k *controller) onPod(old, now *corev1.Pod) {
	p := now
	if now == nil {
		p = old
	}
	if isDisplaced(p, now == nil) && k.now().Sub(displacedAt(p)) < maxRecordAge {
		k.mu.Lock()
		k.pending[string(p.UID)] = p
		k.mu.Unlock()
		k.recordQueue.AddAfter(string(p.UID), k.settleDelay)
	}
	of := owner{p.Namespace, "pod/" + string(p.UID)}
	if c := metav1.GetControllerOfNoCopy(p); c != nil {
		of.uid = string(c.UID)
	}
	id := journal.Pod{Namespace: p.Namespace, Name: p.Name, UID: string(p.UID)}.ID()
	k.mu.Lock()
	waits := len(k.openRecords[of]) > 0
	if k.openRecords[of][id] && (now == nil || podFinished(p)) && k.goneAt[id].IsZero() {
		k.goneAt[id] = k.now().UTC().Truncate(time.Second)
	}
	k.mu.Unlock()
	if waits {
		k.ownerQueue.AddAfter(of, k.batchDelay)
	}
}

// displacementCause is why a pod is displaced, as its status tells.
func displacementCause(p *corev1.Pod) displacement.Cause {
	reason := ""
	if c := findCondition(p, corev1.DisruptionTarget); c != nil && c.Status == corev1.ConditionTrue {
		reason = c.Reason
	}
	if reason == "" && p.Status.Phase != corev1.PodFailed {
		return displacement.None
	}
	return displacement.CauseFromStatus(reason, p.Status.Reason, p.Status.Message)
}

// isDisplaced says whether a pod is leaving, or has left, because somebody wanted that. The condition
// alone says only that it may come to that.
func isDisplaced(p *corev1.Pod, gone bool) bool {
	leaves := gone || p.DeletionTimestamp != nil || p.Status.Phase == corev1.PodFailed
	return leaves && displacementCause(p) != displacement.None
}

// displacedAt is when a displaced pod was displaced, as far as it tells.
func displacedAt(p *corev1.Pod) time.Time {
	for _, t := range []corev1.PodConditionType{corev1.DisruptionTarget, corev1.ContainersReady, corev1.PodReady} {
		if c := findCondition(p, t); c != nil && !c.LastTransitionTime.IsZero() {
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

func findCondition(p *corev1.Pod, t corev1.PodConditionType) *corev1.PodCondition {
	for i := range p.Status.Conditions {
		if p.Status.Conditions[i].Type == t {
			return &p.Status.Conditions[i]
		}
	}
	return nil
}

// writeMissingRecord writes the record of a pod that has none.
func (k *controller) writeMissingRecord(ctx context.Context, uid string) (time.Duration, error) {
	k.mu.Lock()
	p := k.pending[uid]
	k.mu.Unlock()
	if p == nil {
		return 0, nil
	}
	if _, there, _ := k.records.GetByKey(p.Namespace + "/" + executor.RecordEventName(p.Name, uid)); !there {
		rec := reconstruct(p)
		reason, action := displacementCause(p).Event()
		if _, err := k.displacer.WriteEvent(ctx, rec, nil, reason, action, reconstructedNote(rec)); err != nil {
			if !isPermanentRejection(err) && k.now().Sub(displacedAt(p)) < maxRecordAge {
				return 0, err
			}
			if !apierrors.IsForbidden(err) && !apierrors.IsNotFound(err) { // else the namespace goes
				k.o.Log.Error(err, "A displaced pod has no event; its record is in the journal alone, if there is one", "pod", klog.KObj(p))
			}
			if err := k.appendJournal(rec); err != nil {
				return 0, err
			}
		}
	}
	k.mu.Lock()
	delete(k.pending, uid)
	k.mu.Unlock()
	return 0, nil
}

// isPermanentRejection says whether the server answered that it takes a write not now and not later. Credentials are
// renewed, conflicts and crowds pass.
func isPermanentRejection(err error) bool {
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

// Reconstruct is the record of a displacement as the pod alone tells it; nil when it tells of none.
func Reconstruct(p *corev1.Pod) *journal.Displacement {
	if !isDisplaced(p, false) {
		return nil
	}
	return reconstruct(p)
}

func reconstruct(p *corev1.Pod) *journal.Displacement {
	rec := executor.RecordOf(p, displacementCause(p), displacedAt(p), component)
	rec.Reconstructed = true
	rec.Message, rec.Rule = p.Status.Message, ""
	if c := findCondition(p, corev1.DisruptionTarget); c != nil && c.Status == corev1.ConditionTrue {
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

// reconstructedNote is what an event says of a record that was written afterwards.
func reconstructedNote(rec *journal.Displacement) string {
	text := "Displaced"
	if rec.Node != "" {
		text += " from node " + rec.Node
	}
	if rec.Message != "" {
		text += ": " + rec.Message
	}
	return text
}
