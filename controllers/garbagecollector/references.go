package garbagecollector

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"
)

// classifiedReferences are an object's owner references by the state of the owners.
type classifiedReferences struct {
	existing []metav1.OwnerReference // the owner exists
	dangling []types.UID             // the owner does not exist
	waiting  []types.UID             // the owner is in foreground deletion
}

// classifyReferences looks up each owner.
func (gc *garbageCollector) classifyReferences(ctx context.Context, o *object, refs []metav1.OwnerReference) (classifiedReferences, error) {
	var out classifiedReferences
	for _, ref := range refs {
		exists, waits, err := gc.lookUpOwner(ctx, o, ref)
		switch {
		case err != nil:
			return out, err
		case !exists:
			out.dangling = append(out.dangling, ref.UID)
		case waits:
			out.waiting = append(out.waiting, ref.UID)
		default:
			out.existing = append(out.existing, ref)
		}
	}
	return out, nil
}

// absentOwner is the cache key of an owner that does not exist, for dependents in a namespace.
type absentOwner struct {
	namespace, apiVersion, kind, name string
	uid                               types.UID
}

// lookUpOwner reports whether an owner exists and whether it waits for its dependents.
func (gc *garbageCollector) lookUpOwner(ctx context.Context, o *object, ref metav1.OwnerReference) (exists, waits bool, err error) {
	res, served := gc.resourceFor(schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind).GroupKind())
	if !served {
		return false, false, fmt.Errorf("%s %s/%s: owner %s has kind %s in %s, which the API server does not serve: not collected", o.resource.Resource, o.namespace, o.name, ref.Name, ref.Kind, ref.APIVersion)
	}
	namespace := ""
	if res.namespaced {
		if namespace = o.namespace; namespace == "" {
			gc.reportInvalidReference(o, ref, fmt.Sprintf("ownerRef [%s/%s, name: %s, uid: %s] is namespaced, but the object is cluster-scoped: it is never garbage collected", ref.APIVersion, ref.Kind, ref.Name, ref.UID))
			return true, false, nil
		}
	}
	cached, _ := gc.graph.get(ref.UID)
	if cached != nil && cached.kind == res.kind && cached.namespace == namespace && cached.name == ref.Name {
		return true, cached.foreground, nil
	}
	key := absentOwner{namespace, ref.APIVersion, ref.Kind, ref.Name, ref.UID}
	if _, absent := gc.absentOwners.Get(key); absent {
		return false, false, nil
	}
	owner, err := gc.client(res.GroupVersionResource, namespace).Get(ctx, ref.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err) || err == nil && owner.UID != ref.UID:
		gc.absentOwners.Add(key, nil)
		if cached != nil {
			gc.reportInvalidReference(o, ref, fmt.Sprintf("ownerRef [%s/%s, name: %s, uid: %s] does not exist in namespace %q", ref.APIVersion, ref.Kind, ref.Name, ref.UID, namespace))
		}
		return false, false, nil
	case err != nil:
		return false, false, fmt.Errorf("reading owner %s %s of %s: %w", ref.Kind, ref.Name, o.name, err)
	}
	return true, newObject(res.GroupVersionResource, res.kind, owner).foreground, nil
}

// reportInvalidReference records one event about an invalid owner reference.
func (gc *garbageCollector) reportInvalidReference(o *object, ref metav1.OwnerReference, message string) {
	gc.mu.Lock()
	_, reported := gc.reported.Get([2]types.UID{o.uid, ref.UID})
	gc.reported.Add([2]types.UID{o.uid, ref.UID}, nil)
	gc.mu.Unlock()
	if reported {
		return
	}
	involved := &corev1.ObjectReference{APIVersion: schema.GroupVersion{Group: o.kind.Group, Version: o.resource.Version}.String(), Kind: o.kind.Kind, Namespace: o.namespace, Name: o.name, UID: o.uid}
	gc.events.Event(involved, corev1.EventTypeWarning, "OwnerRefInvalidNamespace", message)
}

func (gc *garbageCollector) client(r schema.GroupVersionResource, namespace string) metadata.ResourceInterface {
	if namespace == "" {
		return gc.metadata.Resource(r)
	}
	return gc.metadata.Resource(r).Namespace(namespace)
}
