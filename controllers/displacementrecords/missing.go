package displacementrecords

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"github.com/berthproject/berth/engine/displacement"
	"github.com/berthproject/berth/internal/conversion"
	"github.com/berthproject/berth/internal/displacer"
	"github.com/berthproject/berth/internal/journal"
)

// onPod handles an added, updated or deleted pod.
func (c *controller) onPod(old, cur *corev1.Pod) {
	p := cur
	if cur == nil {
		p = old
	}
	if isDisplaced(p, cur == nil) && c.now().Sub(displacedAt(p)) < maxRecordAge {
		c.mu.Lock()
		c.pending[string(p.UID)] = p
		c.mu.Unlock()
		c.recordQueue.AddAfter(string(p.UID), c.settleDelay)
	}
	key := ownerKeyOf(p)
	id := journal.Pod{Namespace: p.Namespace, Name: p.Name, UID: string(p.UID)}.ID()
	c.mu.Lock()
	keys := []owner{key}
	if old != nil && ownerKeyOf(old) != key {
		keys = append(keys, ownerKeyOf(old)) // the pod may be a replacement of that owner
	}
	keys = slices.DeleteFunc(keys, func(o owner) bool { return len(c.openRecords[o]) == 0 })
	recorded, isOpen := c.openOwners[id] // another owner if the pod was adopted or released since the record was written
	if isOpen && (cur == nil || podFinished(p)) && c.deletedAt[id].IsZero() {
		c.deletedAt[id] = c.now().UTC().Truncate(time.Second)
	}
	c.mu.Unlock()
	if isOpen && !slices.Contains(keys, recorded) {
		keys = append(keys, recorded)
	}
	for _, o := range keys {
		c.ownerQueue.AddAfter(o, c.batchDelay)
	}
}

// ownerKeyOf returns the owner of a pod.
func ownerKeyOf(p *corev1.Pod) owner {
	if c := metav1.GetControllerOfNoCopy(p); c != nil {
		return owner{p.Namespace, string(c.UID)}
	}
	return owner{p.Namespace, "pod/" + string(p.UID)}
}

// displacementCause returns why a pod is displaced, according to its status.
func displacementCause(p *corev1.Pod) displacement.Cause {
	reason := ""
	if c := conversion.ActiveDisruptionTarget(p); c != nil {
		reason = c.Reason
	}
	if reason == "" && p.Status.Phase != corev1.PodFailed {
		return displacement.None
	}
	return displacement.CauseFromStatus(reason, p.Status.Reason, p.Status.Message)
}

// isDisplaced reports whether a pod is being displaced, or was. The DisruptionTarget condition
// alone does not suffice.
func isDisplaced(p *corev1.Pod, deleted bool) bool {
	removed := deleted || p.DeletionTimestamp != nil || p.Status.Phase == corev1.PodFailed
	return removed && displacementCause(p) != displacement.None
}

// displacedAt returns when a pod was displaced, as far as its status shows.
func displacedAt(p *corev1.Pod) time.Time {
	for _, c := range []*corev1.PodCondition{conversion.DisruptionTarget(p), findCondition(p, corev1.ContainersReady), findCondition(p, corev1.PodReady)} {
		if c != nil && !c.LastTransitionTime.IsZero() {
			return c.LastTransitionTime.Time
		}
	}
	if t := p.Status.StartTime; t != nil && p.Status.Phase == corev1.PodFailed {
		return t.Time // the node rejected the pod, which has no conditions of containers
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

// writeMissingRecord writes the record of a pending pod if there is none.
func (c *controller) writeMissingRecord(ctx context.Context, uid string) (time.Duration, error) {
	c.mu.Lock()
	p := c.pending[uid]
	c.mu.Unlock()
	if p == nil {
		return 0, nil
	}
	if o, exists, _ := c.records.GetByKey(p.Namespace + "/" + displacer.RecordEventName(p.Name, uid)); exists {
		c.countNodeAgent(o.(*entry).rec)
	} else {
		rec := reconstruct(p)
		reason, action := displacementCause(p).Event()
		if _, err := c.displacer.WriteEvent(ctx, rec, nil, reason, action, reconstructedNote(rec)); err != nil {
			if !isPermanentRejection(err) && c.now().Sub(displacedAt(p)) < maxRecordAge {
				return 0, err
			}
			if !apierrors.IsForbidden(err) && !apierrors.IsNotFound(err) { // otherwise the namespace is being deleted
				c.log.Error(err, "Failed to write a displacement event, permanently; only the journal has the record", "pod", klog.KObj(p))
			}
			if err := c.appendJournal(rec); err != nil {
				return 0, err
			}
		}
	}
	c.mu.Lock()
	delete(c.pending, uid)
	c.mu.Unlock()
	return 0, nil
}

// countNodeAgent counts a displacement that a node agent has recorded. Node agents export no metric
// about displacements, and end with their nodes.
func (c *controller) countNodeAgent(rec *journal.Displacement) {
	if rec != nil && rec.Writer == displacer.NodeAgent && !rec.Time.Before(c.started) {
		c.displacer.CountOnce(rec)
	}
}

// isPermanentRejection reports whether the API server rejects a write now and later. Authentication errors, conflicts
// and throttling are not permanent.
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

// Reconstruct returns the displacement record that follows from the pod alone, or nil if the pod is not displaced.
func Reconstruct(p *corev1.Pod) *journal.Displacement {
	if !isDisplaced(p, false) {
		return nil
	}
	return reconstruct(p)
}

func reconstruct(p *corev1.Pod) *journal.Displacement {
	rec := displacer.RecordOf(p, displacementCause(p), displacedAt(p), component)
	rec.Reconstructed = true
	rec.Message, rec.Rule = p.Status.Message, ""
	if c := conversion.ActiveDisruptionTarget(p); c != nil {
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

// reconstructedNote returns the event note of a reconstructed record.
func reconstructedNote(rec *journal.Displacement) string {
	note := "Displaced"
	if rec.Node != "" {
		note += " from node " + rec.Node
	}
	if rec.Message != "" {
		note += ": " + rec.Message
	}
	return note
}
