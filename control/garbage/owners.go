package garbage

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

// owners are an object's owner references, by what became of the owners.
type owners struct {
	solid    []metav1.OwnerReference // there, so the object stays
	dangling []types.UID             // gone
	waiting  []types.UID             // go in the foreground
}

// sort asks for each owner whether it is there.
func (l *collector) sort(ctx context.Context, o *object, refs []metav1.OwnerReference) (owners, error) {
	var out owners
	for _, ref := range refs {
		there, waits, err := l.owner(ctx, o, ref)
		switch {
		case err != nil:
			return out, err
		case !there:
			out.dangling = append(out.dangling, ref.UID)
		case waits:
			out.waiting = append(out.waiting, ref.UID)
		default:
			out.solid = append(out.solid, ref)
		}
	}
	return out, nil
}

// absentOwner is the key of an owner that is not there: a reference seen from a namespace.
type absentOwner struct {
	namespace, apiVersion, kind, name string
	uid                               types.UID
}

// owner says whether an owner is there, and whether it waits for its dependents.
func (l *collector) owner(ctx context.Context, o *object, ref metav1.OwnerReference) (there, waits bool, err error) {
	k, known := l.kindOf(schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind).GroupKind())
	if !known {
		return false, false, fmt.Errorf("%s %s/%s has owner %s, of kind %s in %s, which the API server does not serve for watching: it is left alone", o.resource.Resource, o.namespace, o.name, ref.Name, ref.Kind, ref.APIVersion)
	}
	namespace := ""
	if k.namespaced {
		if namespace = o.namespace; namespace == "" {
			l.complain(o, ref, fmt.Sprintf("ownerRef [%s/%s, name: %s, uid: %s] is of a kind with a namespace, and the object has none: it is never deleted for it", ref.APIVersion, ref.Kind, ref.Name, ref.UID))
			return true, false, nil
		}
	}
	sameUID, _ := l.graph.get(ref.UID)
	if x := sameUID; x != nil && x.kind == k.kind && x.namespace == namespace && x.name == ref.Name {
		return true, x.foreground, nil
	}
	key := absentOwner{namespace, ref.APIVersion, ref.Kind, ref.Name, ref.UID}
	if _, gone := l.absent.Get(key); gone {
		return false, false, nil
	}
	live, err := l.client(k.GroupVersionResource, namespace).Get(ctx, ref.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err) || err == nil && live.UID != ref.UID:
		l.absent.Add(key, nil)
		if sameUID != nil {
			l.complain(o, ref, fmt.Sprintf("ownerRef [%s/%s, name: %s, uid: %s] does not exist in namespace %q", ref.APIVersion, ref.Kind, ref.Name, ref.UID, namespace))
		}
		return false, false, nil
	case err != nil:
		return false, false, fmt.Errorf("looking for owner %s %s of %s: %w", ref.Kind, ref.Name, o.name, err)
	}
	return true, compile(k.GroupVersionResource, k.kind, live).foreground, nil
}

// complain writes one event about a reference that cannot be right.
func (l *collector) complain(o *object, ref metav1.OwnerReference, message string) {
	l.mu.Lock()
	_, said := l.told.Get([2]types.UID{o.uid, ref.UID})
	l.told.Add([2]types.UID{o.uid, ref.UID}, nil)
	l.mu.Unlock()
	if said {
		return
	}
	about := &corev1.ObjectReference{APIVersion: schema.GroupVersion{Group: o.kind.Group, Version: o.resource.Version}.String(), Kind: o.kind.Kind, Namespace: o.namespace, Name: o.name, UID: o.uid}
	l.events.Event(about, corev1.EventTypeWarning, "OwnerRefInvalidNamespace", message)
}

// client reads and changes the objects of a resource.
func (l *collector) client(r schema.GroupVersionResource, namespace string) metadata.ResourceInterface {
	if namespace == "" {
		return l.metadata.Resource(r)
	}
	return l.metadata.Resource(r).Namespace(namespace)
}
