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
	if errs := validation.IsDNS1123Label(namespace); len(errs) > 0 {
		writeError(w, http.StatusBadRequest, "namespace: "+strings.Join(errs, "; "))
		return
	}
	if errs := validation.IsDNS1123Subdomain(name); len(errs) > 0 {
		writeError(w, http.StatusBadRequest, "name: "+strings.Join(errs, "; "))
		return
	}
	s.answer(w, r, func(ctx context.Context) ([]byte, error) { return s.o.Answers.Pod(ctx, config, namespace, name) })
}

// serveNamespace serves an answer about the namespace in the parameter namespace, or about all namespaces.
func (s *Server) serveNamespace(get func(context.Context, *rest.Config, string) ([]byte, error)) handler {
	return func(w http.ResponseWriter, r *http.Request, config *rest.Config) {
		namespace := r.URL.Query().Get("namespace")
		if errs := validation.IsDNS1123Label(namespace); namespace != "" && len(errs) > 0 {
			writeError(w, http.StatusBadRequest, "namespace: "+strings.Join(errs, "; "))
			return
		}
		s.answer(w, r, func(ctx context.Context) ([]byte, error) { return get(ctx, config, namespace) })
	}
}

const (
	// answerTimeout bounds the time in which a request waits for its turn and reads the cluster.
	answerTimeout = 30 * time.Second
	// writeTimeout bounds the time in which a client receives an answer.
	writeTimeout = time.Minute
)

// answer computes and sends an answer.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, get func(context.Context) ([]byte, error)) {
	ctx, cancel := context.WithTimeout(r.Context(), answerTimeout)
	defer cancel()
	data, err := s.compute(ctx, get)
	// The error is ignored because the writers of tests do not support deadlines.
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

// compute blocks until fewer than maxAnswers answers are being computed, and computes an answer.
func (s *Server) compute(ctx context.Context, get func(context.Context) ([]byte, error)) ([]byte, error) {
	select {
	case s.answering <- struct{}{}:
		defer func() { <-s.answering }()
		return get(ctx)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
