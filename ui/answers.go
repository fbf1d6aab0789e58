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
func (s *Server) servePod(w http.ResponseWriter, r *http.Request, config *rest.Config) {
	namespace, name := r.URL.Query().Get("namespace"), r.URL.Query().Get("name")
	if bad := validation.IsDNS1123Label(namespace); len(bad) > 0 {
		writeError(w, http.StatusBadRequest, "namespace: "+strings.Join(bad, "; "))
		return
	}
	if bad := validation.IsDNS1123Subdomain(name); len(bad) > 0 {
		writeError(w, http.StatusBadRequest, "name: "+strings.Join(bad, "; "))
		return
	}
	s.answer(w, r, func(ctx context.Context) ([]byte, error) { return s.o.Answers.Pod(ctx, config, namespace, name) })
}

// serveNamespace serves an answer about a namespace, or about all namespaces without parameter namespace.
func (s *Server) serveNamespace(get func(context.Context, *rest.Config, string) ([]byte, error)) handler {
	return func(w http.ResponseWriter, r *http.Request, config *rest.Config) {
		namespace := r.URL.Query().Get("namespace")
		if bad := validation.IsDNS1123Label(namespace); namespace != "" && len(bad) > 0 {
			writeError(w, http.StatusBadRequest, "namespace: "+strings.Join(bad, "; "))
			return
		}
		s.answer(w, r, func(ctx context.Context) ([]byte, error) { return get(ctx, config, namespace) })
	}
}

const (
	// answerTimeout bounds how long a request waits for its turn and reads the cluster.
	answerTimeout = 30 * time.Second
	// writeTimeout bounds how long a client takes to receive an answer.
	writeTimeout = time.Minute
)

// answer computes and sends an answer.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, get func(context.Context) ([]byte, error)) {
	ctx, cancel := context.WithTimeout(r.Context(), answerTimeout)
	defer cancel()
	data, err := s.compute(ctx, get)
	// A writer of a test has no deadline.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTimeout))
	if ctx.Err() != nil {
		writeError(w, http.StatusGatewayTimeout, fmt.Sprintf("computing the answer took longer than %v: try again", answerTimeout))
		return
	}
	if err != nil {
		writeFailure(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(data)
}

// compute computes an answer when fewer than maxAnswers are computed.
func (s *Server) compute(ctx context.Context, get func(context.Context) ([]byte, error)) ([]byte, error) {
	select {
	case s.answering <- struct{}{}:
		defer func() { <-s.answering }()
		return get(ctx)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
