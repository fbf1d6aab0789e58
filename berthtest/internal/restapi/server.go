package restapi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/sets"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"

	"github.com/berthproject/berth/sim"
	"github.com/berthproject/berth/sim/store"
)

// Backend is the simulated cluster.
type Backend struct {
	Store *store.Store
	// Do calls f at the current virtual time, while nothing else uses the cluster.
	Do func(f func())
	// Evict sends an eviction request. It is called by a function that Do calls.
	Evict sim.EvictionHandler
	// Ended is closed when the cluster has ended.
	Ended <-chan struct{}
}

// Server serves the API. It implements http.RoundTripper and is safe for concurrent use.
type Server struct {
	Backend
	kinds []*kind
	infos genericapirequest.RequestInfoFactory

	// Backend.Do protects the fields below.
	history   []store.Change // the latest commits
	compacted uint64         // revision of the last commit that is no longer in history
	watches   []*watch
	names     uint64 // number of generated names
}

// New returns a server. Its Observe must be called for every commit.
func New(b Backend) (*Server, error) {
	served, err := newKinds()
	return &Server{Backend: b, kinds: served, infos: genericapirequest.RequestInfoFactory{APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api")}}, err
}

// request is a request for a resource.
type request struct {
	*http.Request
	*genericapirequest.RequestInfo
	kind *kind
}

// key returns the key of the object in the store.
func (r *request) key() string { return store.Key(r.Namespace, r.Name) }

// context returns a context with the namespace, for the rules of the kind.
func (r *request) context() context.Context {
	return genericapirequest.WithRequestInfo(genericapirequest.WithNamespace(r.Context(), r.Namespace), r.RequestInfo)
}

var errEnded = errors.New("the cluster of the test has ended")

// RoundTrip implements http.RoundTripper.
func (s *Server) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		defer func() { _ = r.Body.Close() }()
	}
	select {
	case <-r.Context().Done():
		return nil, r.Context().Err()
	case <-s.Ended:
		return nil, errEnded
	default:
	}
	code, body, err := s.serve(r)
	if err != nil {
		status := errorStatus(err)
		code, body = int(status.Code), reader(status)
	}
	return &http.Response{Status: http.StatusText(code), StatusCode: code, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, ContentLength: -1,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: body, Request: r}, nil
}

// serve executes a request.
func (s *Server) serve(r *http.Request) (code int, body io.ReadCloser, err error) {
	info, err := s.infos.NewRequestInfo(r)
	if err != nil {
		return 0, nil, apierrors.NewBadRequest(err.Error())
	}
	if !info.IsResourceRequest {
		document := s.document(r.URL.Path)
		if document == nil {
			return 0, nil, notServed(r.URL.Path)
		}
		return http.StatusOK, reader(document), nil
	}
	resource := schema.GroupVersionResource{Group: info.APIGroup, Version: info.APIVersion, Resource: info.Resource}
	q := &request{Request: r, RequestInfo: info, kind: s.find(resource)}
	if q.kind == nil {
		return 0, nil, notServed(r.URL.Path)
	}
	if !q.kind.Namespaced && info.Resource != "namespaces" && info.Namespace != "" {
		return 0, nil, notServed(r.URL.Path)
	}
	if info.Resource == "namespaces" {
		info.Namespace = ""
	}
	return s.serveResource(q)
}

// serveResource executes a request for a resource.
func (s *Server) serveResource(q *request) (code int, body io.ReadCloser, err error) {
	code = http.StatusOK
	if q.Subresource != "" && q.Subresource != "status" {
		return s.serveSubresource(q)
	}
	var out any
	switch q.Verb {
	case "get":
		s.Do(func() { out, err = s.get(q) })
	case "list":
		s.Do(func() { out, err = s.list(q) })
	case "watch":
		var w *watch
		s.Do(func() { w, err = s.watch(q) })
		return code, w, err
	case "create":
		code = http.StatusCreated
		s.Do(func() { out, err = s.create(q) })
	case "update":
		s.Do(func() { out, err = s.replace(q) })
	case "patch":
		s.Do(func() { out, err = s.patch(q) })
	case "delete":
		s.Do(func() { out, err = s.delete(q) })
	case "deletecollection":
		s.Do(func() { out, err = s.deleteCollection(q) })
	default:
		err = apierrors.NewMethodNotSupported(q.kind.GroupResource(), q.Verb)
	}
	if err != nil {
		return 0, nil, err
	}
	return code, reader(out), nil
}

func notServed(path string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: http.StatusNotFound, Reason: metav1.StatusReasonNotFound,
		Message: fmt.Sprintf("path %s: the API in virtual time does not serve it", path)}}
}

func errorStatus(err error) *metav1.Status {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		status = apierrors.NewInternalError(err)
	}
	out := status.Status()
	out.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
	return &out
}

// reader returns a body with a value as JSON.
func reader(value any) io.ReadCloser {
	data, err := json.Marshal(value)
	if err != nil { // unreachable: API types have a JSON form
		data = []byte(err.Error())
	}
	return io.NopCloser(bytes.NewReader(data))
}
