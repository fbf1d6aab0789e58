package restapi

import (
	"cmp"
	"errors"
	"io"
	"net/http"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/berthproject/berth/sim/displacement"
	"github.com/berthproject/berth/sim/store"
)

// serveSubresource executes a request for a subresource except status.
func (s *Server) serveSubresource(q *request) (code int, body io.ReadCloser, err error) {
	var out any
	switch {
	case q.kind.stored == store.Pods && q.Subresource == "eviction" && q.Verb == "create":
		return s.evict(q)
	case q.kind.stored == store.Pods && q.Subresource == "binding" && q.Verb == "create":
		s.Do(func() { out, err = s.bind(q) })
		code = http.StatusCreated
	case q.Subresource == "scale" && (q.Verb == "get" || q.Verb == "update" || q.Verb == "patch"):
		s.Do(func() { out, err = s.scale(q) })
		code = http.StatusOK
	default:
		err = notServed(q.URL.Path)
	}
	if err != nil {
		return 0, nil, err
	}
	return code, reader(out), nil
}

// readBody reads the JSON in a request.
func (q *request) readBody(out any) error {
	data, err := io.ReadAll(q.Body)
	if err == nil {
		err = json.Unmarshal(data, out)
	}
	if err != nil {
		return apierrors.NewBadRequest("reading the request as JSON: " + err.Error())
	}
	return nil
}

// bind binds a pod to a node.
func (s *Server) bind(q *request) (any, error) {
	var binding corev1.Binding
	if err := q.readBody(&binding); err != nil {
		return nil, err
	}
	if err := s.Store.Bind(q.key(), string(binding.UID), binding.Target.Name); err != nil {
		return nil, err
	}
	return success(), nil
}

// evict evicts a pod and waits for the response, which takes virtual time.
func (s *Server) evict(q *request) (code int, body io.ReadCloser, err error) {
	var eviction policyv1.Eviction
	if err := q.readBody(&eviction); err != nil {
		return 0, nil, err
	}
	o := cmp.Or(eviction.DeleteOptions, &metav1.DeleteOptions{})
	if o.Preconditions != nil && o.Preconditions.ResourceVersion != nil {
		return 0, nil, apierrors.NewBadRequest("deleteOptions.preconditions.resourceVersion: must not be set in virtual time")
	}
	if q.isDryRun() {
		o.DryRun = []string{metav1.DryRunAll}
	}
	eviction.Name, eviction.DeleteOptions = q.Name, o
	responses := make(chan error, 1)
	s.Do(func() { s.Evict("test", q.Namespace, &eviction, func(err error) { responses <- err }) })
	select {
	case err = <-responses:
	case <-q.Context().Done():
		err = q.Context().Err()
	case <-s.Ended:
		err = errEnded
	}
	switch {
	case errors.Is(err, displacement.ErrNoResponse):
		err = apierrors.NewTimeoutError("no response to the eviction", 0)
	case err == nil:
		return http.StatusCreated, reader(success()), nil
	}
	return 0, nil, err
}

// scale returns or changes the Scale of a workload.
func (s *Server) scale(q *request) (any, error) {
	stored, err := s.storedObject(q)
	if err != nil {
		return nil, err
	}
	workload, _ := stored.DeepCopyObject().(store.Object)
	out, replicas := scaleOf(workload)
	if out == nil {
		return nil, notServed(q.URL.Path)
	}
	if q.Verb == "get" {
		return out, nil
	}
	update := autoscalingv1.Scale{}
	if q.Verb == "update" {
		err = q.readBody(&update)
	} else {
		var data []byte
		if data, err = q.applyPatch(out); err == nil {
			err = json.Unmarshal(data, &update)
		}
	}
	if err != nil {
		return nil, err
	}
	*replicas, q.Subresource = &update.Spec.Replicas, ""
	workload.SetResourceVersion(update.ResourceVersion)
	if _, err := s.update(q, workload); err != nil {
		return nil, err
	}
	current, err := s.storedObject(q)
	if err != nil {
		return nil, err
	}
	out, _ = scaleOf(current)
	return out, nil
}

// scaleOf returns the Scale of a workload, and its field for replicas; nil for other kinds.
func scaleOf(o store.Object) (*autoscalingv1.Scale, **int32) {
	var replicas **int32
	var current int32
	var selector *metav1.LabelSelector
	switch w := o.(type) {
	case *appsv1.Deployment:
		replicas, current, selector = &w.Spec.Replicas, w.Status.Replicas, w.Spec.Selector
	case *appsv1.ReplicaSet:
		replicas, current, selector = &w.Spec.Replicas, w.Status.Replicas, w.Spec.Selector
	case *appsv1.StatefulSet:
		replicas, current, selector = &w.Spec.Replicas, w.Status.Replicas, w.Spec.Selector
	default:
		return nil, nil
	}
	out := &autoscalingv1.Scale{TypeMeta: metav1.TypeMeta{APIVersion: "autoscaling/v1", Kind: "Scale"}, ObjectMeta: metav1.ObjectMeta{Name: o.GetName(), Namespace: o.GetNamespace(),
		UID: o.GetUID(), ResourceVersion: o.GetResourceVersion(), CreationTimestamp: o.GetCreationTimestamp()}, Status: autoscalingv1.ScaleStatus{Replicas: current, Selector: metav1.FormatLabelSelector(selector)}}
	if *replicas != nil {
		out.Spec.Replicas = **replicas
	}
	return out, replicas
}
