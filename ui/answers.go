package ui

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"
)

// servePod serves the explanation of a pod.
func (s *Server) servePod(get func(ctx context.Context, config *rest.Config, namespace, name string) ([]byte, error)) handler {
	return func(w http.ResponseWriter, r *http.Request, config *rest.Config) {
		namespace, name := r.URL.Query().Get("namespace"), r.URL.Query().Get("name")
		if errs := validation.IsDNS1123Label(namespace); len(errs) > 0 {
			writeError(w, http.StatusBadRequest, "namespace: "+strings.Join(errs, "; "))
			return
		}
		if errs := validation.IsDNS1123Subdomain(name); len(errs) > 0 {
			writeError(w, http.StatusBadRequest, "name: "+strings.Join(errs, "; "))
			return
		}
		s.answer(w, r, config, func(ctx context.Context) ([]byte, error) { return get(ctx, config, namespace, name) })
	}
}

// serveNamespace serves an answer about the namespace in the parameter namespace, or about all namespaces.
func (s *Server) serveNamespace(get func(context.Context, *rest.Config, string) ([]byte, error)) handler {
	return func(w http.ResponseWriter, r *http.Request, config *rest.Config) {
		namespace := r.URL.Query().Get("namespace")
		if errs := validation.IsDNS1123Label(namespace); namespace != "" && len(errs) > 0 {
			writeError(w, http.StatusBadRequest, "namespace: "+strings.Join(errs, "; "))
			return
		}
		s.answer(w, r, config, func(ctx context.Context) ([]byte, error) { return get(ctx, config, namespace) })
	}
}

const (
	// answerTimeout bounds the time in which a request waits for a slot and reads the cluster.
	answerTimeout = 30 * time.Second
	// reportTimeout bounds the time in which a request waits for a slot and receives the report of a node.
	reportTimeout = 10 * time.Second
	// writeTimeout bounds the time in which a client receives an answer.
	writeTimeout = time.Minute
)

// answer computes an answer about the cluster and sends it.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, config *rest.Config, get func(context.Context) ([]byte, error)) {
	s.answerWithin(w, r, config, s.answering, answerTimeout, get)
}

// answerWithin computes an answer in one of the slots, and sends it. If the client accepts events, it sends the answer
// again when it has changed.
func (s *Server) answerWithin(w http.ResponseWriter, r *http.Request, config *rest.Config, slots chan struct{}, timeout time.Duration, get func(context.Context) ([]byte, error)) {
	if wantsEvents(r) {
		s.stream(w, r, config, slots, timeout, get)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), timeout)
	defer cancel()
	data, err := compute(ctx, slots, get)
	// The error is ignored because the writers of tests do not support deadlines.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTimeout))
	if ctx.Err() != nil {
		writeError(w, http.StatusGatewayTimeout, timeoutMessage(timeout))
		return
	}
	if err != nil {
		writeFailure(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(data)
}

func timeoutMessage(timeout time.Duration) string {
	return fmt.Sprintf("computing the answer took longer than %v: try again", timeout)
}

// compute blocks until a slot is free, and computes an answer.
func compute(ctx context.Context, slots chan struct{}, get func(context.Context) ([]byte, error)) ([]byte, error) {
	select {
	case slots <- struct{}{}:
		defer func() { <-slots }()
		return get(ctx)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
