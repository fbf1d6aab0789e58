package statefulset

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/control/template"
	shared "github.com/berthproject/berth/control/workload"
	"github.com/berthproject/berth/control/workload/history"
	"github.com/berthproject/berth/engine/workload"
	"github.com/berthproject/berth/internal/intake"
)

// errStale says that a number waits for the claims of its predecessor to go.
var errStale = errors.New("its claims are still about to go")

// carryOut plans what to do about a StatefulSet with these pods, does it, and writes the status.
func (s *shell) carryOut(ctx context.Context, owner *shared.Owner, set *appsv1.StatefulSet, revisions *history.Revisions, all []*corev1.Pod) (wake time.Time, err error) {
	now := time.Now()
	update := revisions.Present()
	current := revisions.Named(set.Status.CurrentRevision)
	if current == nil {
		current = update
	}
	pods, seen := s.compile(set, all, now)
	machine := intake.StatefulSet(set, current.Name, update.Name)
	plan := machine.Plan(now, seen)
	unkept, kept := s.keepClaims(ctx, set, pods, seen, plan.Scaled)
	// Once a pod that is too many is gone, nobody knows any more that its claims were to go with it.
	plan.Delete = slices.DeleteFunc(plan.Delete, func(d workload.StatefulDelete) bool {
		return d.Why == workload.StatefulScaledDown && slices.Contains(unkept, d.Pod)
	})
	_, made := shared.Slowly(len(plan.Create), func(i int) error { return s.create(ctx, owner, set, revisions, plan.Create[i]) })
	wake = plan.Wake
	switch {
	case errors.Is(made, errStale):
		made = nil
		if later := now.Add(staleWait); wake.IsZero() || later.Before(wake) {
			wake = later
		}
	case shared.TerminatingNamespace(made):
		made = nil
	}
	_, deleted := shared.Slowly(len(plan.Delete), func(i int) error {
		d := plan.Delete[i]
		return s.delete(ctx, owner, set, pods[d.Pod], d.Why)
	})
	written := s.write(ctx, set, &plan.Status, revisions.Collisions)
	live := map[string]bool{current.Name: true, plan.Status.Current: true}
	for i := range seen {
		live[seen[i].Revision] = true
	}
	trimmed := s.history.Trim(ctx, revisions, func(r *appsv1.ControllerRevision) bool { return live[r.Name] }, set.Spec.RevisionHistoryLimit)
	return wake, errors.Join(kept, made, deleted, written, trimmed)
}

// compile reads the pods that have a number.
func (s *shell) compile(set *appsv1.StatefulSet, all []*corev1.Pod, now time.Time) (pods []*corev1.Pod, seen []workload.StatefulPod) {
	for _, p := range all {
		n, member := template.Ordinal(set.Name, p.Name)
		if !member {
			continue
		}
		v := workload.StatefulPod{Pod: intake.WorkloadPod(p), Ordinal: n, Revision: intake.RevisionOf(p)}
		if d, ok := workload.DeathOf(&v.Pod); ok && p.Status.Phase == corev1.PodFailed {
			s.deaths.Add(set.UID, p.Name, p.UID, d)
			until, why := s.avoid.NotBefore(now, set.UID, set.Spec.Template.Spec.NodeName, s.deaths.At(set.UID, p.Name, now))
			v.NotBefore = until
			if !until.IsZero() && s.told.Say(set.UID, p.Name, until) {
				s.events.Event(set, corev1.EventTypeWarning, shared.HeldBack, why)
			}
		}
		pods, seen = append(pods, p), append(seen, v)
	}
	return pods, seen
}

// create makes the claims of a number, and then its pod.
func (s *shell) create(ctx context.Context, owner *shared.Owner, set *appsv1.StatefulSet, revisions *history.Revisions, c workload.StatefulCreate) error {
	t := &set.Spec.Template
	if rev := revisions.Named(c.Revision); rev != nil && rev != revisions.Present() {
		old, err := template.Patched(rev)
		if err != nil {
			return err
		}
		t = old
	}
	if err := s.makeClaims(ctx, set, c.Ordinal); err != nil {
		return err
	}
	return s.pods.Create(ctx, owner, template.Stateful(set, t, owner.Reference(), c.Ordinal, c.Revision))
}

// delete deletes a pod, and says so when it is because it ended.
func (s *shell) delete(ctx context.Context, owner *shared.Owner, set *appsv1.StatefulSet, p *corev1.Pod, why workload.StatefulReason) error {
	switch why {
	case workload.StatefulFailed:
		s.events.Eventf(set, corev1.EventTypeWarning, "RecreatingFailedPod", "StatefulSet %s/%s is recreating failed Pod %s", set.Namespace, set.Name, p.Name)
	case workload.StatefulSucceeded:
		s.events.Eventf(set, corev1.EventTypeNormal, "RecreatingTerminatedPod", "StatefulSet %s/%s is recreating terminated Pod %s", set.Namespace, set.Name, p.Name)
	}
	return s.pods.Delete(ctx, owner, p)
}

// identify gives an adopted pod the labels of its number.
func (s *shell) identify(ctx context.Context, set *appsv1.StatefulSet, p *corev1.Pod, ordinal int32) error {
	if p.UID == "" || p.DeletionTimestamp != nil || p.Labels[appsv1.StatefulSetPodNameLabel] == p.Name && p.Labels[appsv1.PodIndexLabel] != "" {
		return nil
	}
	p = p.DeepCopy()
	volumes := p.DeepCopy().Spec.Volumes
	template.Identify(set, p, ordinal)
	p.Spec.Volumes = volumes // they cannot be changed any more
	_, err := s.client.CoreV1().Pods(p.Namespace).Update(ctx, p, metav1.UpdateOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("labelling pod %s/%s: %w", p.Namespace, p.Name, err)
	}
	return nil
}

// write writes the status if it changed.
func (s *shell) write(ctx context.Context, set *appsv1.StatefulSet, n *workload.StatefulStatus, collisions *int32) error {
	status := appsv1.StatefulSetStatus{
		ObservedGeneration: n.Observed, Replicas: n.Replicas, ReadyReplicas: n.Ready, AvailableReplicas: n.Available, CurrentReplicas: n.AtCurrent, UpdatedReplicas: n.AtUpdate,
		CurrentRevision: n.Current, UpdateRevision: n.Update, CollisionCount: collisions, Conditions: set.Status.Conditions,
	}
	if collisions == nil {
		status.CollisionCount = new(int32) // as Kubernetes writes it
	}
	if equality.Semantic.DeepEqual(set.Status, status) {
		return nil
	}
	set = set.DeepCopy()
	set.Status = status
	_, err := s.client.AppsV1().StatefulSets(set.Namespace).UpdateStatus(ctx, set, metav1.UpdateOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
