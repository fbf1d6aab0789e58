package agent

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// Delays after a mirror pod could not be created or deleted. The delay doubles with each failure.
const (
	mirrorRetryDelay    = 2 * time.Second
	maxMirrorRetryDelay = time.Minute
)

// mirrorFailure describes the consecutive failed writes of a mirror pod.
type mirrorFailure struct {
	count int
	last  string // error message
}

// reconcileMirrors creates, replaces and deletes mirror pods as the static pods require.
func (a *Agent) reconcileMirrors() {
	keys := maps.Clone(a.static.running)
	for key := range a.static.mirrors {
		keys[key] = ""
	}
	for key := range keys {
		a.reconcileMirror(key)
	}
}

// reconcileMirror is reconcileMirrors for one pod. At most one write per pod is in flight.
func (a *Agent) reconcileMirror(key string) {
	if a.static.writing[key] || !a.static.known {
		return
	}
	mirror, static := a.static.mirrors[key], a.pods[a.static.running[key]]
	switch {
	case mirror != nil && (static == nil || mirror.DeletionTimestamp != nil || !a.isMirrorOf(mirror, static.object)):
		a.writeMirror(key, "delete", func(ctx context.Context) (mirrorWrite, error) {
			return mirrorWrite{deleted: mirror}, a.deleteMirror(ctx, mirror)
		})
	case mirror == nil && static != nil && static.object.DeletionTimestamp == nil && static.node.objectUID() != "":
		object := mirrorOf(static.object, static.node.objectUID())
		a.writeMirror(key, "create", func(ctx context.Context) (mirrorWrite, error) {
			created, err := a.opts.Client.CoreV1().Pods(object.Namespace).Create(ctx, object, metav1.CreateOptions{})
			return mirrorWrite{created: created}, err
		})
	}
}

// mirrorWrite is the result of a write of a mirror pod. Both pods are nil after an error.
type mirrorWrite struct {
	key              string
	created, deleted *corev1.Pod
	err              error
}

// writeMirror performs a write in the background and sends its result to handleMirrorWrite, after an error with a
// delay. It logs an error that differs from that of the previous attempt.
func (a *Agent) writeMirror(key, action string, write func(context.Context) (mirrorWrite, error)) {
	a.static.writing[key] = true
	ctx, delay, lastError := a.ctx, mirrorRetryDelay, ""
	if f := a.static.failures[key]; f != nil {
		delay, lastError = min(mirrorRetryDelay<<min(f.count, 10), maxMirrorRetryDelay), f.last
	}
	a.tasks.start(func() {
		result, err := write(ctx)
		if err != nil {
			result = mirrorWrite{err: err}
		}
		if err != nil && ctx.Err() == nil {
			if err.Error() != lastError {
				a.opts.Log.Error(err, "Failed to "+action+" mirror pod; retrying", "pod", key)
			}
			a.env.Sleep(ctx, delay)
		}
		result.key = key
		a.inbox.post(func() { a.handleMirrorWrite(result) })
	})
}

// handleMirrorWrite applies the result of a write before the watch delivers it, and reconciles the pod again.
func (a *Agent) handleMirrorWrite(w mirrorWrite) {
	delete(a.static.writing, w.key)
	if w.err == nil {
		delete(a.static.failures, w.key)
	}
	switch {
	case w.err != nil:
		f := cmp.Or(a.static.failures[w.key], &mirrorFailure{})
		f.count, f.last = f.count+1, w.err.Error()
		a.static.failures[w.key] = f
	case w.created != nil:
		a.handleMirrorPod(w.created, false)
	case w.deleted != nil:
		a.handleMirrorPod(w.deleted, true)
	}
	a.reconcileMirror(w.key)
}

// mirrorOf returns the mirror pod of a static pod.
func mirrorOf(static *corev1.Pod, node types.UID) *corev1.Pod {
	object := static.DeepCopy()
	object.ObjectMeta = metav1.ObjectMeta{Name: static.Name, Namespace: static.Namespace, Labels: object.Labels, Annotations: object.Annotations,
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: static.Spec.NodeName, UID: node, Controller: ptr.To(true)}}}
	object.Status = corev1.PodStatus{}
	return object
}

// deleteMirror deletes a mirror pod without a grace period, because it has no containers.
func (a *Agent) deleteMirror(ctx context.Context, mirror *corev1.Pod) error {
	err := a.opts.Client.CoreV1().Pods(mirror.Namespace).Delete(ctx, mirror.Name,
		metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0), Preconditions: &metav1.Preconditions{UID: &mirror.UID}})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("deleting mirror pod %s: %w", podKey(mirror), err)
	}
	return nil
}
