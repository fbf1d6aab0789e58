package garbagecollector

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/internal/apierror"
)

// getLive reads the object from the API server. It returns nil if it was deleted or replaced.
func (gc *garbageCollector) getLive(ctx context.Context, o *object) (*metav1.PartialObjectMetadata, error) {
	m, err := gc.client(o.resource, o.namespace).Get(ctx, o.name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) || err == nil && m.UID != o.uid {
		return nil, nil
	}
	return m, err
}

// attemptToDelete deletes an object whose owners are all deleted or waiting for deletion. If an owner remains, it
// removes the references to deleted owners instead.
func (gc *garbageCollector) attemptToDelete(ctx context.Context, o *object, dependents []*object) error {
	m, err := gc.getLive(ctx, o)
	if err != nil || m == nil || m.DeletionTimestamp != nil {
		return err
	}
	refs, err := gc.classifyReferences(ctx, o, m.OwnerReferences)
	if err != nil || len(m.OwnerReferences) == 0 {
		return err
	}
	if len(refs.existing) > 0 {
		if len(refs.dangling)+len(refs.waiting) == 0 {
			return nil
		}
		return gc.patchMetadata(ctx, o, m, map[string]any{"ownerReferences": refs.existing})
	}
	policy := propagationPolicy(m)
	if len(refs.waiting) > 0 && len(dependents) > 0 {
		// The dependents must be deleted first. If a dependent itself waits for its dependents there may be a cycle.
		// To break it, this object stops blocking its owners.
		if slices.ContainsFunc(dependents, func(d *object) bool { return d.foreground }) {
			if err := gc.patchMetadata(ctx, o, m, map[string]any{"ownerReferences": unblockReferences(m.OwnerReferences)}); err != nil {
				return err
			}
			if m, err = gc.getLive(ctx, o); err != nil || m == nil {
				return err
			}
		}
		policy = metav1.DeletePropagationForeground
	}
	err = gc.client(o.resource, o.namespace).Delete(ctx, o.name, metav1.DeleteOptions{
		Preconditions: &metav1.Preconditions{UID: &m.UID, ResourceVersion: &m.ResourceVersion}, PropagationPolicy: &policy,
	})
	return apierror.IgnoreNotFound(err)
}

// propagationPolicy returns the deletion policy that the object's finalizers request.
func propagationPolicy(m metav1.Object) metav1.DeletionPropagation {
	switch {
	case slices.Contains(m.GetFinalizers(), metav1.FinalizerOrphanDependents):
		return metav1.DeletePropagationOrphan
	case slices.Contains(m.GetFinalizers(), metav1.FinalizerDeleteDependents):
		return metav1.DeletePropagationForeground
	}
	return metav1.DeletePropagationBackground
}

func unblockReferences(refs []metav1.OwnerReference) []metav1.OwnerReference {
	refs = slices.Clone(refs)
	for i := range refs {
		refs[i].BlockOwnerDeletion = new(bool)
	}
	return refs
}

// processDeletingDependents removes the foregroundDeletion finalizer of an owner once no dependent blocks it, and
// otherwise enqueues its dependents.
func (gc *garbageCollector) processDeletingDependents(ctx context.Context, o *object, dependents []*object) error {
	blocked := false
	for _, d := range dependents {
		if d.blocks(o.uid) {
			blocked = true
			if !d.foreground {
				gc.queue.Add(d.uid)
			}
		}
	}
	if blocked {
		return nil
	}
	return gc.removeFinalizer(ctx, o, metav1.FinalizerDeleteDependents)
}

// orphanDependents removes the owner from its dependents, and then its orphan finalizer.
func (gc *garbageCollector) orphanDependents(ctx context.Context, o *object, dependents []*object) error {
	for _, d := range dependents {
		m, err := gc.getLive(ctx, d)
		if err != nil {
			return err
		}
		if m == nil {
			continue
		}
		remaining := slices.DeleteFunc(slices.Clone(m.OwnerReferences), func(r metav1.OwnerReference) bool { return r.UID == o.uid })
		if len(remaining) == len(m.OwnerReferences) {
			continue
		}
		if err := gc.patchMetadata(ctx, d, m, map[string]any{"ownerReferences": remaining}); err != nil {
			return fmt.Errorf("orphaning %s %s/%s: %w", d.resource.Resource, d.namespace, d.name, err)
		}
	}
	return gc.removeFinalizer(ctx, o, metav1.FinalizerOrphanDependents)
}

func (gc *garbageCollector) removeFinalizer(ctx context.Context, o *object, finalizer string) error {
	m, err := gc.getLive(ctx, o)
	if err != nil || m == nil {
		return err
	}
	remaining := slices.DeleteFunc(slices.Clone(m.Finalizers), func(f string) bool { return f == finalizer })
	if len(remaining) == len(m.Finalizers) {
		return nil
	}
	return gc.patchMetadata(ctx, o, m, map[string]any{"finalizers": remaining})
}

// patchMetadata patches metadata, with UID and resource version as preconditions.
func (gc *garbageCollector) patchMetadata(ctx context.Context, o *object, m *metav1.PartialObjectMetadata, fields map[string]any) error {
	fields["uid"], fields["resourceVersion"] = m.UID, m.ResourceVersion
	data, err := json.Marshal(map[string]any{"metadata": fields})
	if err != nil {
		return err
	}
	_, err = gc.client(o.resource, o.namespace).Patch(ctx, o.name, types.MergePatchType, data, metav1.PatchOptions{})
	return apierror.IgnoreNotFound(err)
}
