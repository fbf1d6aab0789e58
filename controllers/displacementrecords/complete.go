package displacementrecords

import (
	"context"
	"reflect"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/klog/v2"

	"github.com/berthproject/berth/engine/displacement"
	"github.com/berthproject/berth/internal/journal"
)

// isComplete reports whether a record needs no further update.
func isComplete(d *journal.Displacement, now time.Time) bool {
	replaced := d.Owner == nil || d.Replacement != nil && d.Replacement.Ready != nil
	return d.Deleted != nil && replaced || now.Sub(d.Time) > replacementTimeout
}

// completeRecords updates the records of an owner from the current state of its pods.
func (c *controller) completeRecords(ctx context.Context, key owner) (time.Duration, error) {
	entries, err := c.records.ByIndex(byOwner, key.namespace+"/"+key.uid)
	if err != nil || !slices.ContainsFunc(entries, func(o any) bool { return !isComplete(o.(*entry).rec, c.now()) }) {
		return 0, err
	}
	pods, err := c.pods.Pods(key.namespace).List(labels.Everything())
	if err != nil {
		return 0, err
	}
	owned := map[string]*corev1.Pod{}
	var candidates []displacement.OwnerPod
	for _, p := range pods {
		if ref := metav1.GetControllerOfNoCopy(p); ref != nil && string(ref.UID) == key.uid {
			owned[string(p.UID)] = p
			candidates = append(candidates, displacement.OwnerPod{UID: string(p.UID), Name: p.Name, Node: p.Spec.NodeName, Created: p.CreationTimestamp.Time})
		}
	}
	var displaced []displacement.DisplacedPod
	kind := ""
	for _, o := range entries {
		rec := o.(*entry).rec
		d := displacement.DisplacedPod{UID: rec.Pod.UID, Name: rec.Pod.Name, Node: rec.Node, At: rec.Time}
		if r := rec.Replacement; r != nil && !c.isReleased(key.namespace, r, owned) {
			d.Replacement = r.UID
		}
		if rec.Owner != nil {
			kind = rec.Owner.Kind
		}
		displaced = append(displaced, d)
	}
	replacements := displacement.MatchReplacements(kind, displaced, candidates)
	for _, o := range entries {
		e := o.(*entry)
		if isComplete(e.rec, c.now()) {
			continue
		}
		next := *e.rec
		if next.Deleted == nil && c.podEnded(e.rec.Pod) {
			at := c.deletionTime(e.rec.Pod.ID())
			next.Deleted = &at
		}
		if r := next.Replacement; r != nil && c.isReleased(key.namespace, r, owned) {
			next.Replacement = nil
		}
		if p := owned[replacements[e.rec.Pod.UID]]; p != nil {
			next.Replacement = mergeReplacement(p, next.Replacement)
		}
		if p := c.pod(e.rec.Pod.Namespace, e.rec.Pod.Name, e.rec.Pod.UID); next.Owner == nil && p != nil {
			next.Owner = ownerOf(p) // the writer of the record did not observe the adoption of the pod
		}
		if next.Deleted == e.rec.Deleted && next.Owner == e.rec.Owner && reflect.DeepEqual(next.Replacement, e.rec.Replacement) {
			continue
		}
		if err := c.updateRecord(ctx, e, &next); err != nil {
			return 0, err
		}
	}
	return 0, nil
}

// pod returns the pod with a name and a UID, or nil.
func (c *controller) pod(namespace, name, uid string) *corev1.Pod {
	p, err := c.pods.Pods(namespace).Get(name)
	if err != nil || string(p.UID) != uid {
		return nil
	}
	return p
}

// podEnded reports whether a pod has finished or does not exist.
func (c *controller) podEnded(id journal.Pod) bool {
	p := c.pod(id.Namespace, id.Name, id.UID)
	return p == nil || podFinished(p)
}

// isReleased reports whether the owner released a replacement before it was bound. The owner's next pod is the replacement
// instead.
func (c *controller) isReleased(namespace string, r *journal.Replacement, owned map[string]*corev1.Pod) bool {
	return r.Node == "" && owned[r.UID] == nil && c.pod(namespace, r.Name, r.UID) != nil
}

// ownerOf returns the controller of a pod, or nil.
func ownerOf(p *corev1.Pod) *journal.Owner {
	c := metav1.GetControllerOfNoCopy(p)
	if c == nil {
		return nil
	}
	return &journal.Owner{APIVersion: c.APIVersion, Kind: c.Kind, Name: c.Name, UID: string(c.UID)}
}

// updateRecord replaces a record with next. A record whose update is permanently rejected is closed.
func (c *controller) updateRecord(ctx context.Context, e *entry, next *journal.Displacement) error {
	err := c.displacer.ReplaceRecord(ctx, e, next)
	switch {
	case err == nil || apierrors.IsNotFound(err):
		return nil
	case !isPermanentRejection(err):
		return err
	}
	c.log.Error(err, "Failed to complete a displacement record, permanently; only the journal has the complete record", "event", klog.KRef(e.Namespace, e.Name))
	if err := c.appendJournal(next); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closeRecord(e, e.owner())
	return nil
}

// deletionTime returns when a pod was observed to be deleted, or now.
func (c *controller) deletionTime(id string) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at := c.deletedAt[id]; !at.IsZero() {
		return at
	}
	return c.now().UTC().Truncate(time.Second)
}

func podFinished(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodFailed || p.Status.Phase == corev1.PodSucceeded
}

// mergeReplacement returns the previous replacement, which may be nil, updated with the state of pod p.
func mergeReplacement(p *corev1.Pod, previous *journal.Replacement) *journal.Replacement {
	out := journal.Replacement{}
	if previous != nil {
		out = *previous
	}
	out.Name, out.UID = p.Name, string(p.UID)
	created := p.CreationTimestamp.UTC()
	out.Created = &created
	if p.Spec.NodeName != "" {
		out.Node = p.Spec.NodeName
	}
	for _, t := range []struct {
		condition corev1.PodConditionType
		field     **time.Time
	}{{corev1.PodScheduled, &out.Scheduled}, {corev1.PodReady, &out.Ready}} {
		if c := findCondition(p, t.condition); *t.field == nil && c != nil && c.Status == corev1.ConditionTrue {
			at := c.LastTransitionTime.UTC()
			*t.field = &at
		}
	}
	return &out
}

// journalRecord appends a record to the journal.
func (c *controller) journalRecord(_ context.Context, key string) (time.Duration, error) {
	o, exists, err := c.records.GetByKey(key)
	if err != nil || !exists || c.o.Journal == nil {
		return 0, err
	}
	rec := o.(*entry).rec
	if rec == nil {
		return 0, nil // the record was removed since the key was enqueued
	}
	return 0, c.appendJournal(rec)
}

// appendJournal appends a record to the journal unless the journal has a record of the pod that is as complete.
func (c *controller) appendJournal(rec *journal.Displacement) error {
	id := rec.Pod.ID()
	c.mu.Lock()
	recorded := c.journaled[id]
	c.mu.Unlock()
	if recorded >= rec.Completeness() {
		return nil
	}
	if err := c.o.Journal.Append(rec); err != nil {
		return err
	}
	c.mu.Lock()
	c.journaled[id] = max(rec.Completeness(), c.journaled[id])
	c.mu.Unlock()
	return nil
}
