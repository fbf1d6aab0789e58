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

	"github.com/berthproject/berth/controllers/podtemplate"
	workloadcontroller "github.com/berthproject/berth/controllers/workload"
	"github.com/berthproject/berth/controllers/workload/revision"
	"github.com/berthproject/berth/engine/workload"
	"github.com/berthproject/berth/internal/apierror"
	"github.com/berthproject/berth/internal/conversion"
)

// errStaleClaim reports that an ordinal waits for the deletion of its predecessor's claims.
var errStaleClaim = errors.New("its claims are still being deleted")

// apply plans and executes the changes for a StatefulSet with these pods, and writes the status.
func (c *controller) apply(ctx context.Context, owner *workloadcontroller.Owner, set *appsv1.StatefulSet, revisions *revision.Revisions, all []*corev1.Pod) (wake time.Time, err error) {
	now := c.env.Now()
	update := revisions.Latest()
	current := revisions.ByName(set.Status.CurrentRevision)
	if current == nil {
		current = update
	}
	pods, observed := c.convertPods(set, all, now)
	machine := conversion.StatefulSet(set, current.Name, update.Name)
	plan := machine.Plan(now, observed)
	unsynced, claimsErr := c.syncClaims(ctx, set, pods, observed, plan.ScaledDown)
	// Do not delete a surplus pod before its claims have owner references. Without the pod they would never be deleted.
	plan.Delete = slices.DeleteFunc(plan.Delete, func(d workload.StatefulDelete) bool {
		return d.Reason == workload.StatefulScaledDown && slices.Contains(unsynced, d.Pod)
	})
	_, createErr := workloadcontroller.SlowStartBatch(c.env, len(plan.Create), func(i int) error { return c.createPod(ctx, owner, set, revisions, plan.Create[i]) })
	wake = plan.Wake
	switch {
	case errors.Is(createErr, errStaleClaim):
		createErr = nil
		if retryAt := now.Add(staleClaimRetry); wake.IsZero() || retryAt.Before(wake) {
			wake = retryAt
		}
	case workloadcontroller.IsNamespaceTerminating(createErr):
		createErr = nil
	}
	_, deleteErr := workloadcontroller.SlowStartBatch(c.env, len(plan.Delete), func(i int) error {
		d := plan.Delete[i]
		return c.deletePod(ctx, owner, set, pods[d.Pod], d.Reason)
	})
	statusErr := c.updateStatus(ctx, set, &plan.Status, revisions.Collisions)
	usedRevisions := map[string]bool{current.Name: true, plan.Status.Current: true}
	for i := range observed {
		usedRevisions[observed[i].Revision] = true
	}
	truncateErr := c.history.Truncate(ctx, revisions, func(r *appsv1.ControllerRevision) bool { return usedRevisions[r.Name] }, set.Spec.RevisionHistoryLimit)
	return wake, errors.Join(claimsErr, createErr, deleteErr, statusErr, truncateErr)
}

// convertPods converts the pods that have an ordinal.
func (c *controller) convertPods(set *appsv1.StatefulSet, all []*corev1.Pod, now time.Time) (pods []*corev1.Pod, observed []workload.StatefulPod) {
	for _, p := range all {
		n, hasOrdinal := podtemplate.Ordinal(set.Name, p.Name)
		if !hasOrdinal {
			continue
		}
		v := workload.StatefulPod{Pod: conversion.WorkloadPod(p), Ordinal: n, Revision: conversion.RevisionOf(p)}
		if f, ok := workload.FailureOf(&v.Pod); ok && p.Status.Phase == corev1.PodFailed {
			c.failures.Add(set.UID, p.Name, p.UID, f)
			until, reason := c.avoidHolds.NotBefore(now, set.UID, set.Spec.Template.Spec.NodeName, c.failures.List(set.UID, p.Name, now))
			v.NotBefore = until
			if !until.IsZero() && c.dedup.ShouldRecord(set.UID, p.Name, until) {
				c.events.Event(set, corev1.EventTypeWarning, workloadcontroller.BackOffReason, reason)
			}
		}
		pods, observed = append(pods, p), append(observed, v)
	}
	return pods, observed
}

// createPod creates the claims of an ordinal and then its pod.
func (c *controller) createPod(ctx context.Context, owner *workloadcontroller.Owner, set *appsv1.StatefulSet, revisions *revision.Revisions, create workload.StatefulCreate) error {
	t := &set.Spec.Template
	if rev := revisions.ByName(create.Revision); rev != nil && rev != revisions.Latest() {
		old, err := podtemplate.TemplateOf(rev)
		if err != nil {
			return err
		}
		t = old
	}
	if err := c.createClaims(ctx, set, create.Ordinal); err != nil {
		return err
	}
	return c.pods.Create(ctx, owner, podtemplate.StatefulPod(set, t, owner.Reference(), create.Ordinal, create.Revision))
}

// deletePod deletes a pod, and records an event if the pod has finished.
func (c *controller) deletePod(ctx context.Context, owner *workloadcontroller.Owner, set *appsv1.StatefulSet, p *corev1.Pod, reason workload.StatefulReason) error {
	switch reason {
	case workload.StatefulFailed:
		c.events.Eventf(set, corev1.EventTypeWarning, "RecreatingFailedPod", "StatefulSet %s/%s is recreating failed Pod %s", set.Namespace, set.Name, p.Name)
	case workload.StatefulSucceeded:
		c.events.Eventf(set, corev1.EventTypeNormal, "RecreatingTerminatedPod", "StatefulSet %s/%s is recreating terminated Pod %s", set.Namespace, set.Name, p.Name)
	}
	return c.pods.Delete(ctx, owner, p)
}

// setIdentity adds the labels of its ordinal to an adopted pod.
func (c *controller) setIdentity(ctx context.Context, set *appsv1.StatefulSet, p *corev1.Pod, ordinal int32) error {
	if p.UID == "" || p.DeletionTimestamp != nil || p.Labels[appsv1.StatefulSetPodNameLabel] == p.Name && p.Labels[appsv1.PodIndexLabel] != "" {
		return nil
	}
	p = p.DeepCopy()
	volumes := p.DeepCopy().Spec.Volumes
	podtemplate.SetIdentity(set, p, ordinal)
	p.Spec.Volumes = volumes // volumes are immutable
	_, err := c.client.CoreV1().Pods(p.Namespace).Update(ctx, p, metav1.UpdateOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("labeling pod %s/%s: %w", p.Namespace, p.Name, err)
	}
	return nil
}

// updateStatus writes the status if it has changed.
func (c *controller) updateStatus(ctx context.Context, set *appsv1.StatefulSet, n *workload.StatefulStatus, collisions *int32) error {
	status := appsv1.StatefulSetStatus{
		ObservedGeneration: n.Observed, Replicas: n.Replicas, ReadyReplicas: n.Ready, AvailableReplicas: n.Available, CurrentReplicas: n.CurrentReplicas, UpdatedReplicas: n.UpdatedReplicas,
		CurrentRevision: n.Current, UpdateRevision: n.Update, CollisionCount: collisions, Conditions: set.Status.Conditions,
	}
	if collisions == nil {
		status.CollisionCount = new(int32) // upstream writes 0
	}
	if equality.Semantic.DeepEqual(set.Status, status) {
		return nil
	}
	set = set.DeepCopy()
	set.Status = status
	_, err := c.client.AppsV1().StatefulSets(set.Namespace).UpdateStatus(ctx, set, metav1.UpdateOptions{})
	return apierror.IgnoreNotFound(err)
}
