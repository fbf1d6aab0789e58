package restapi

import (
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/berthproject/berth/sim/store"
)

// storedObject returns the object of a request as stored. It must not be changed.
func (s *Server) storedObject(q *request) (store.Object, error) {
	if o, ok := s.Store.Get(q.kind.stored, q.key()); ok {
		return o, nil
	}
	return nil, apierrors.NewNotFound(q.kind.GroupResource(), q.Name)
}

func (s *Server) get(q *request) (any, error) {
	o, err := s.storedObject(q)
	if err != nil {
		return nil, err
	}
	return q.present(o), nil
}

// present returns a copy of an object for the response.
func (q *request) present(o store.Object) runtime.Object {
	if wantsMetadata(q) {
		return metadataOf(o)
	}
	out := o.DeepCopyObject()
	out.GetObjectKind().SetGroupVersionKind(q.kind.GroupVersionKind())
	return out
}

// wantsMetadata reports whether the client requests only the metadata of objects.
func wantsMetadata(q *request) bool {
	return strings.Contains(q.Header.Get("Accept"), "as=PartialObjectMetadata")
}

func metadataOf(o store.Object) *metav1.PartialObjectMetadata {
	out := meta.AsPartialObjectMetadata(o).DeepCopy()
	out.TypeMeta = metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadata"}
	return out
}

func (s *Server) list(q *request) (any, error) {
	objects, err := s.selectedObjects(q)
	if err != nil {
		return nil, err
	}
	revision := strconv.FormatUint(s.Store.Revision(), 10)
	if wantsMetadata(q) {
		out := &metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadataList"}, ListMeta: metav1.ListMeta{ResourceVersion: revision}}
		for _, o := range objects {
			out.Items = append(out.Items, *metadataOf(o))
		}
		return out, nil
	}
	out := q.kind.NewList()
	items := make([]runtime.Object, len(objects))
	for i, o := range objects {
		items[i] = o.DeepCopyObject()
	}
	if err := meta.SetList(out, items); err != nil {
		return nil, err
	}
	list, err := meta.ListAccessor(out)
	if err != nil {
		return nil, err
	}
	list.SetResourceVersion(revision)
	gvk := q.kind.GroupVersionKind()
	gvk.Kind += "List"
	out.GetObjectKind().SetGroupVersionKind(gvk)
	return out, nil
}

// selectedObjects returns the stored objects that a request selects, by key.
func (s *Server) selectedObjects(q *request) (out []store.Object, err error) {
	matches, err := q.selector()
	if err != nil {
		return nil, err
	}
	for _, o := range s.Store.List(q.kind.stored) {
		if matches(o) {
			out = append(out, o)
		}
	}
	return out, nil
}

// selector returns whether an object is in the namespace of a request and matches its selectors.
func (q *request) selector() (func(store.Object) bool, error) {
	query := q.URL.Query()
	byLabel, err := labels.Parse(query.Get("labelSelector"))
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	byField, err := fields.ParseSelector(query.Get("fieldSelector"))
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	known := q.kind.selectableFields(q.kind.New())
	byField, err = byField.Transform(func(field, value string) (string, string, error) {
		if alias := q.kind.FieldAliases[field]; alias != "" {
			field = alias
		}
		if _, ok := known[field]; !ok {
			return "", "", apierrors.NewBadRequest("field label not supported: " + field)
		}
		return field, value, nil
	})
	if err != nil {
		return nil, err
	}
	return func(o store.Object) bool {
		return (q.Namespace == "" || o.GetNamespace() == q.Namespace) && byLabel.Matches(labels.Set(o.GetLabels())) &&
			(byField.Empty() || byField.Matches(q.kind.selectableFields(o)))
	}, nil
}

// selectableFields returns the fields of an object that a field selector can name.
func (k *kind) selectableFields(o runtime.Object) fields.Set {
	out := fields.Set{}
	if k.Fields != nil {
		out = k.Fields(o)
	}
	if accessor, err := meta.Accessor(o); err == nil {
		out["metadata.name"], out["metadata.namespace"] = accessor.GetName(), accessor.GetNamespace()
	}
	return out
}
