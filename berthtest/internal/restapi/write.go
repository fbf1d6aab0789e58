package restapi

import (
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/berthproject/berth/sim/store"
)

// decode reads the object in a request and sets its defaults.
func (q *request) decode() (store.Object, error) {
	data, err := io.ReadAll(q.Body)
	if err != nil {
		return nil, err
	}
	return q.parse(data)
}

// parse returns an object from JSON, with defaults.
func (q *request) parse(data []byte) (store.Object, error) {
	o, ok := q.kind.New().(store.Object)
	if !ok {
		return nil, fmt.Errorf("%s has no metadata", q.kind.Kind.Kind)
	}
	if err := json.Unmarshal(data, o); err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("reading a %s as JSON: %v", q.kind.Kind.Kind, err))
	}
	if gvk := o.GetObjectKind().GroupVersionKind(); gvk.Kind != "" && gvk != q.kind.GroupVersionKind() {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("kind %s: must be %s", gvk, q.kind.GroupVersionKind()))
	}
	o.GetObjectKind().SetGroupVersionKind(q.kind.GroupVersionKind())
	if q.kind.Default != nil {
		q.kind.Default(o)
	}
	return o, nil
}

// isDryRun reports whether a request must not change anything.
func (q *request) isDryRun() bool { return q.URL.Query().Get("dryRun") == metav1.DryRunAll }

// create creates an object.
func (s *Server) create(q *request) (any, error) {
	o, err := q.decode()
	if err != nil {
		return nil, err
	}
	return s.createObject(q, o)
}

func (s *Server) createObject(q *request, o store.Object) (any, error) {
	if _, exists := s.Store.Get(store.Namespaces, q.Namespace); q.kind.Namespaced && !exists {
		return nil, apierrors.NewNotFound(corev1.Resource("namespaces"), q.Namespace)
	}
	if o.GetName() == "" && o.GetGenerateName() != "" {
		s.names++
		o.SetName(o.GetGenerateName() + strconv.FormatUint(s.names, 10))
	}
	rest.FillObjectMetaSystemFields(o)
	if err := s.admit(o); err != nil {
		return nil, err
	}
	if q.kind.Namespaced && o.GetNamespace() == "" {
		o.SetNamespace(q.Namespace)
	}
	o.SetResourceVersion("")
	if err := rest.BeforeCreate(q.kind.rules.Create, q.context(), o); err != nil {
		return nil, err
	}
	o.SetUID("") // the store sets a UID that does not depend on chance
	o.SetCreationTimestamp(metav1.Time{})
	o.GetObjectKind().SetGroupVersionKind(q.kind.GroupVersion.WithKind(""))
	if q.isDryRun() {
		return q.present(o), nil
	}
	if n, ok := o.(*corev1.Node); ok {
		store.ApplyDefaults(n)
	}
	if err := s.Store.Create(o); err != nil {
		return nil, err
	}
	return q.present(o), nil
}

// admit sets what the API server's admission sets for pods.
func (s *Server) admit(o store.Object) error {
	p, ok := o.(*corev1.Pod)
	if !ok {
		return nil
	}
	if name := p.Spec.PriorityClassName; name != "" {
		if _, exists := s.Store.Get(store.PriorityClasses, name); !exists && p.Spec.Priority == nil {
			return apierrors.NewForbidden(corev1.Resource("pods"), p.Name, fmt.Errorf("no PriorityClass with name %s was found", name))
		}
	}
	s.Store.AdmitPod(p)
	return nil
}

// replace replaces an object or its status.
func (s *Server) replace(q *request) (any, error) {
	o, err := q.decode()
	if err != nil {
		return nil, err
	}
	if o.GetName() != q.Name {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("metadata.name %q: must be the name in the path, %q", o.GetName(), q.Name))
	}
	if _, exists := s.Store.Get(q.kind.stored, q.key()); !exists && q.Subresource == "" && q.kind.AllowCreateOnUpdate {
		return s.createObject(q, o)
	}
	return s.update(q, o)
}

// update replaces an object or its status, by the rules of the kind.
func (s *Server) update(q *request, o store.Object) (any, error) {
	stored, err := s.storedObject(q)
	if err != nil {
		return nil, err
	}
	rules := rest.RESTUpdateStrategy(q.kind.rules.Create)
	if q.Subresource == "status" {
		if !q.kind.HasStatus {
			return nil, notServed(q.URL.Path)
		}
		rules = q.kind.rules.Status
	}
	if uid := o.GetUID(); uid != "" && uid != stored.GetUID() {
		return nil, apierrors.NewConflict(q.kind.GroupResource(), q.Name, fmt.Errorf("precondition failed: UID in precondition: %s, UID in object meta: %s", uid, stored.GetUID()))
	}
	switch version := o.GetResourceVersion(); {
	case version == "" && rules.AllowUnconditionalUpdate(q.context()):
		o.SetResourceVersion(stored.GetResourceVersion())
	case version != "" && version != stored.GetResourceVersion():
		return nil, apierrors.NewConflict(q.kind.GroupResource(), q.Name, fmt.Errorf("the object has been modified; please apply your changes to the latest version and try again"))
	}
	if q.kind.Namespaced && o.GetNamespace() == "" {
		o.SetNamespace(q.Namespace)
	}
	old, _ := stored.DeepCopyObject().(store.Object)
	if err := rest.BeforeUpdate(rules, q.context(), o, old); err != nil {
		return nil, err
	}
	return s.commit(q, stored, o)
}

// commit stores an update of an object.
func (s *Server) commit(q *request, stored, o store.Object) (any, error) {
	o.SetManagedFields(stored.GetManagedFields())
	o.GetObjectKind().SetGroupVersionKind(stored.GetObjectKind().GroupVersionKind())
	if q.isDryRun() || equality.Semantic.DeepEqual(stored, o) {
		return q.present(o), nil
	}
	err := s.Store.Update(q.kind.stored, q.key(), store.Precondition{}, func(current store.Object) error {
		reflect.ValueOf(current).Elem().Set(reflect.ValueOf(o).Elem())
		return nil
	})
	if err != nil {
		return nil, err
	}
	if current, exists := s.Store.Get(q.kind.stored, q.key()); exists {
		o = current
	}
	return q.present(o), nil
}

// delete deletes an object.
func (s *Server) delete(q *request) (any, error) {
	options, err := q.deleteOptions()
	if err != nil {
		return nil, err
	}
	o, err := s.storedObject(q)
	if err != nil {
		return nil, err
	}
	if err := s.deleteObject(q, o, options); err != nil {
		return nil, err
	}
	if q.kind.ReturnDeleted {
		return q.present(o), nil
	}
	return success(), nil
}

// deleteCollection deletes the objects that match the selectors.
func (s *Server) deleteCollection(q *request) (any, error) {
	options, err := q.deleteOptions()
	if err != nil {
		return nil, err
	}
	objects, err := s.selectedObjects(q)
	for _, o := range slices.Clone(objects) {
		if err == nil {
			err = s.deleteObject(q, o, options)
		}
	}
	if err != nil {
		return nil, err
	}
	return success(), nil
}

func success() *metav1.Status {
	return &metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusSuccess}
}

// deleteOptions reads the options in the body or in the query.
func (q *request) deleteOptions() (metav1.DeleteOptions, error) {
	var out metav1.DeleteOptions
	if q.Body != nil {
		data, err := io.ReadAll(q.Body)
		if err == nil && len(data) > 0 {
			err = json.Unmarshal(data, &out)
		}
		if err != nil {
			return out, apierrors.NewBadRequest("reading DeleteOptions as JSON: " + err.Error())
		}
	}
	query := q.URL.Query()
	if text := query.Get("gracePeriodSeconds"); text != "" {
		seconds, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return out, apierrors.NewBadRequest(fmt.Sprintf("gracePeriodSeconds %q: must be a number", text))
		}
		out.GracePeriodSeconds = &seconds
	}
	if text := metav1.DeletionPropagation(query.Get("propagationPolicy")); text != "" {
		out.PropagationPolicy = &text
	}
	if p := out.PropagationPolicy; p != nil && *p != metav1.DeletePropagationBackground {
		return out, apierrors.NewBadRequest(fmt.Sprintf("propagationPolicy %s: must be %s in virtual time", *p, metav1.DeletePropagationBackground))
	}
	if q.kind.stored == store.Namespaces {
		return out, apierrors.NewMethodNotSupported(q.kind.GroupResource(), q.Verb) // there is no namespace controller
	}
	return out, nil
}

func (s *Server) deleteObject(q *request, o store.Object, options metav1.DeleteOptions) error {
	var required store.Precondition
	if p := options.Preconditions; p != nil {
		if p.UID != nil {
			required.UID = string(*p.UID)
		}
		if p.ResourceVersion != nil {
			required.ResourceVersion = *p.ResourceVersion
		}
	}
	if q.isDryRun() || slices.Contains(options.DryRun, metav1.DryRunAll) {
		return nil
	}
	if q.kind.stored == store.Pods {
		return s.Store.DeletePod(store.KeyOf(o), required, options.GracePeriodSeconds)
	}
	return s.Store.Delete(q.kind.stored, store.KeyOf(o), required)
}
