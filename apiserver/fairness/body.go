package fairness

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	"k8s.io/apiserver/pkg/endpoints/request"
)

const (
	// bodyTimeout is the time in which a client must send the body of a request.
	bodyTimeout = 30 * time.Second
	// maxBytesPerUser and maxBytes limit the memory, in bytes, for the bodies of unfinished requests of a
	// user and of all users.
	maxBytesPerUser, maxBytes = 32 << 20, 256 << 20
	// maxBodiesPerUser and maxBodies limit the number of bodies that have not arrived completely, of a
	// user and of all users.
	maxBodiesPerUser, maxBodies = 1000, 8000
	// chunkSize is the number of bytes that readBody charges before it reads them.
	chunkSize = 4 << 10
)

// bodyCheck returns an error if the body of a request must not be decoded.
type bodyCheck func(resource schema.GroupVersionResource, header http.Header, body []byte) error

// bufferedBody is a body that withBody has read.
type bufferedBody struct{ *bytes.Buffer }

// Close implements io.Closer.
func (bufferedBody) Close() error { return nil }

// withCheck calls check with each body that withBody has read and returns 400 if check fails. limit is
// that of withBody.
func withCheck(handler http.Handler, serializer runtime.NegotiatedSerializer, limit int64, check bodyCheck) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		info, ok := request.RequestInfoFrom(r.Context())
		body, buffered := r.Body.(bufferedBody)
		if ok && buffered && (limit <= 0 || int64(body.Len()) <= limit) { // the handler refuses larger bodies
			resource := schema.GroupVersionResource{Group: info.APIGroup, Version: info.APIVersion, Resource: info.Resource}
			if err := check(resource, r.Header, body.Bytes()); err != nil {
				responsewriters.ErrorNegotiated(apierrors.NewBadRequest(err.Error()), serializer, resource.GroupVersion(), w, r)
				return
			}
		}
		handler.ServeHTTP(w, r)
	})
}

// withBody reads the body of a request before the handler runs, unless the request is long-running.
// limit is the maximum size in bytes; 0 means no limit. The handler returns 413 for a larger body, and
// withBody does not read the remainder.
func withBody(handler http.Handler, isLongRunning request.LongRunningRequestCheck, serializer runtime.NegotiatedSerializer, budget *bodyBudget, limit int64) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		info, ok := request.RequestInfoFrom(r.Context())
		if !ok || r.Body == nil || r.Body == http.NoBody || isLongRunning(r, info) {
			handler.ServeHTTP(w, r)
			return
		}
		name := ""
		if user, ok := request.UserFrom(r.Context()); ok {
			name = user.GetName()
		}
		charge, err := budget.open(name)
		defer charge.close()
		if err != nil {
			refuseBody(w, r, serializer, info, err)
			return
		}
		if r.Context().Err() != nil {
			return // the timeout has sent the response; its writer panics
		}
		deadlines := http.NewResponseController(w)
		hasDeadline := deadlines.SetReadDeadline(time.Now().Add(bodyTimeout)) == nil // in-process requests have no deadline
		body, err := readBody(r.Body, limit, charge)
		if r.Context().Err() != nil {
			return
		}
		if hasDeadline && err == nil {
			_ = deadlines.SetReadDeadline(time.Time{}) // for the next request on the connection
		}
		if err != nil {
			refuseBody(w, r, serializer, info, err)
			return
		}
		charge.bodyArrived()
		r.Body = bufferedBody{body}
		handler.ServeHTTP(w, r)
	})
}

// refuseBody responds to a request whose body was not read, and closes the connection.
func refuseBody(w http.ResponseWriter, r *http.Request, serializer runtime.NegotiatedSerializer, info *request.RequestInfo, err error) {
	w.Header().Set("Connection", "close")
	responsewriters.ErrorNegotiated(bodyError(err), serializer, schema.GroupVersion{Group: info.APIGroup, Version: info.APIVersion}, w, r)
}

// readBody reads at most one byte more than limit, or everything if limit is not positive. It charges each chunk before
// reading it, because the client may send it slowly.
func readBody(from io.Reader, limit int64, charge *bodyCharge) (*bytes.Buffer, error) {
	if limit <= 0 {
		limit = 1 << 62
	}
	body := &bytes.Buffer{}
	for int64(body.Len()) <= limit {
		chunk := min(chunkSize, limit+1-int64(body.Len()))
		if err := charge.add(chunk); err != nil {
			return nil, err
		}
		n, err := io.CopyN(body, from, chunk)
		_ = charge.add(n - chunk) // n <= chunk
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	return body, nil
}

// bodyError returns the response to a request whose body was not read.
func bodyError(err error) error {
	var limit *limitError
	switch {
	case errors.As(err, &limit):
		return apierrors.NewTooManyRequests(err.Error()+", try again later", 1)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return &apierrors.StatusError{ErrStatus: metav1.Status{
			Status: metav1.StatusFailure, Code: http.StatusRequestTimeout, Reason: metav1.StatusReasonTimeout,
			Message: fmt.Sprintf("the request body did not arrive within %v", bodyTimeout),
		}}
	}
	return apierrors.NewBadRequest(fmt.Sprintf("reading the request body: %v", err))
}
