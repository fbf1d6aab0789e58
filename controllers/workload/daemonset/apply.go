package daemonset

import (
	"context"
	"errors"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/berthproject/berth/controllers/podtemplate"
	workloadcontroller "github.com/berthproject/berth/controllers/workload"
	"github.com/berthproject/berth/controllers/workload/revision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement"
	"github.com/berthproject/berth/engine/workload"
	"github.com/berthproject/berth/internal/apierror"
	"github.com/berthproject/berth/internal/conversion"
)

// apply plans and executes the changes for a DaemonSet with these pods, and writes the status.
func (c *controller) apply(ctx context.Context, owner *workloadcontroller.Owner, ds *appsv1.DaemonSet, revisions *revision.Revisions, pods []*corev1.Pod) (wake time.Time, err error) {
	now := c.env.Now()
	hash := revisions.Latest().Labels[appsv1.DefaultDaemonSetUniqueLabelKey]
	observed := c.convertPods(ds, pods)
	nodes, desired, err := c.evaluateNodes(ds, hash, now)
	if err != nil {
		return time.Time{}, err
	}
	machine := conversion.DaemonSet(ds, hash, desired)
	plan := machine.Plan(now, nodes, observed)
	_, createErr := workloadcontroller.SlowStartBatch(c.env, len(plan.Create), func(i int) error {
		pod := podtemplate.DaemonPod(ds, owner.Reference(), hash, plan.Create[i])
		return c.pods.Create(ctx, owner, pod)
	})
	if workloadcontroller.IsNamespaceTerminating(createErr) {
		createErr = nil // the namespace controller deletes the other objects
	}
	_, deleteErr := workloadcontroller.SlowStartBatch(c.env, len(plan.Delete), func(i int) error {
		return c.deletePod(ctx, owner, ds, pods[plan.Delete[i].Pod], &observed[plan.Delete[i].Pod], plan.Delete[i].Reason)
	})
	statusErr := c.updateStatus(ctx, ds, &plan.Status, revisions.Collisions)
	usedHashes := map[string]bool{}
	for i := range observed {
		usedHashes[observed[i].Hash] = true
	}
	truncateErr := c.history.Truncate(ctx, revisions, func(r *appsv1.ControllerRevision) bool {
		return usedHashes[r.Labels[appsv1.DefaultDaemonSetUniqueLabelKey]]
	}, ds.Spec.RevisionHistoryLimit)
	return plan.Wake, errors.Join(createErr, deleteErr, statusErr, truncateErr)
}

// convertPods converts the pods and records failures.
func (c *controller) convertPods(ds *appsv1.DaemonSet, pods []*corev1.Pod) []workload.DaemonPod {
	out := make([]workload.DaemonPod, len(pods))
	for i, p := range pods {
		out[i] = workload.DaemonPod{Pod: conversion.WorkloadPod(p), Target: podtemplate.DaemonNode(p), Hash: conversion.RevisionOf(p)}
		if f, ok := workload.FailureOf(&out[i].Pod); ok && p.Status.Phase == corev1.PodFailed {
			c.failures.Add(ds.UID, failureSlot(out[i].Target, out[i].Hash), p.UID, f)
		}
	}
	return out
}

// failureSlot returns the slot of a node and template. A new template starts without failures.
func failureSlot(node, hash string) string { return node + "/" + hash }

// evaluateNodes returns for each node whether it should run a pod, and the number of nodes that should. It records an
// event for each backoff.
func (c *controller) evaluateNodes(ds *appsv1.DaemonSet, hash string, now time.Time) (out []workload.DaemonNode, desired int, err error) {
	list, err := c.nodes.List(labels.Everything())
	if err != nil {
		return nil, 0, err
	}
	pod := podtemplate.Pod(&ds.Spec.Template, ds.Namespace, metav1.OwnerReference{})
	podtemplate.AddDaemonTolerations(&pod.Spec)
	nodeName := pod.Spec.NodeName
	spec := c.converter.Pod(pod).Spec
	for _, n := range c.convertNodes(list) {
		node := workload.DaemonNode{Name: n.Name}
		if nodeName == "" || nodeName == n.Name {
			node.ShouldRun, node.ShouldContinue = placement.NodeShouldRunDaemonPod(spec, n)
		}
		if node.ShouldRun {
			desired++
			until, reason := c.avoidHolds.NotBefore(now, ds.UID, n.Name, c.failures.List(ds.UID, failureSlot(n.Name, hash), now))
			node.NotBefore = until
			if !until.IsZero() && c.dedup.ShouldRecord(ds.UID, n.Name, until) {
				c.events.Event(ds, corev1.EventTypeWarning, workloadcontroller.BackOffReason, reason)
			}
		}
		out = append(out, node)
	}
	return out, desired, nil
}

// convertNodes converts the nodes. It reuses the conversion of an unchanged object.
func (c *controller) convertNodes(list []*corev1.Node) []*model.Node {
	c.mu.Lock()
	defer c.mu.Unlock()
	next := make(map[string]cachedNode, len(list))
	out := make([]*model.Node, 0, len(list))
	for _, n := range list {
		cached := c.nodeCache[n.Name]
		if cached.source != n {
			cached = cachedNode{n, c.converter.Node(n)}
		}
		next[n.Name] = cached
		out = append(out, cached.node)
	}
	c.nodeCache = next
	return out
}

// deletePod deletes a pod, and records an event if the pod has finished.
func (c *controller) deletePod(ctx context.Context, owner *workloadcontroller.Owner, ds *appsv1.DaemonSet, p *corev1.Pod, observed *workload.DaemonPod, reason workload.DaemonReason) error {
	switch reason {
	case workload.DaemonFailed:
		c.events.Eventf(ds, corev1.EventTypeWarning, "FailedDaemonPod", "Found failed daemon pod %s/%s on node %s, will try to kill it", p.Namespace, p.Name, observed.Target)
	case workload.DaemonSucceeded:
		c.events.Eventf(ds, corev1.EventTypeNormal, "SucceededDaemonPod", "Found succeeded daemon pod %s/%s on node %s, will try to delete it", p.Namespace, p.Name, observed.Target)
	}
	return c.pods.Delete(ctx, owner, p)
}

// updateStatus writes the status if it has changed.
func (c *controller) updateStatus(ctx context.Context, ds *appsv1.DaemonSet, n *workload.DaemonStatus, collisions *int32) error {
	status := appsv1.DaemonSetStatus{
		CurrentNumberScheduled: n.Current, NumberMisscheduled: n.Misscheduled, DesiredNumberScheduled: n.Desired, NumberReady: n.Ready, ObservedGeneration: n.Observed,
		UpdatedNumberScheduled: n.Updated, NumberAvailable: n.Available, NumberUnavailable: n.Unavailable, CollisionCount: collisions, Conditions: ds.Status.Conditions,
	}
	if equality.Semantic.DeepEqual(ds.Status, status) {
		return nil
	}
	ds = ds.DeepCopy()
	ds.Status = status
	_, err := c.client.AppsV1().DaemonSets(ds.Namespace).UpdateStatus(ctx, ds, metav1.UpdateOptions{})
	return apierror.IgnoreNotFound(err)
}
