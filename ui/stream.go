package ui

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"k8s.io/client-go/rest"
)

const tooManyStreams = "too many open streams: close other tabs of this page"

const (
	// maxUserStreams is the number of streams of a user; maxStreams that of all users.
	maxUserStreams = 24
	maxStreams     = 240
	// streamDuration is how long a stream lasts. Then its client opens another one, which is authenticated again.
	streamDuration = 10 * time.Minute
	// costFactor is the minimum time between two computations of an answer, in multiples of the duration of the last one. A
	// stream uses at most 1/costFactor of a core.
	costFactor = 35
	// maxRetry limits the time until a computation that failed is repeated. costFactor may require a longer time.
	maxRetry = 30 * time.Second
)

// stream sends an answer whenever it has changed, as the events answer and failure. Each computation uses the
// credentials of the user, so the API server authorizes each. The client chooses the interval of computations in
// seconds with the parameter every, from 1 to 60.
func (s *Server) stream(w http.ResponseWriter, r *http.Request, config *rest.Config, slots chan struct{}, timeout time.Duration, get func(context.Context) ([]byte, error)) {
	every, err := strconv.Atoi(r.URL.Query().Get("every"))
	if err != nil || every < 1 || every > 60 {
		writeError(w, http.StatusBadRequest, "every: must be a number of seconds from 1 to 60")
		return
	}
	s.withStream(w, r, config, func(ctx context.Context, e *events) {
		sendAnswers(ctx, e, time.Duration(every)*time.Second, func() (string, []byte, int) { return computeEvent(ctx, slots, timeout, get) })
	})
}

// sendAnswers computes an event repeatedly and sends it when it has changed, until the stream ends or the user must sign
// in again.
func sendAnswers(ctx context.Context, e *events, interval time.Duration, compute func() (name string, data []byte, code int)) {
	wait := interval
	var last []byte
	for ctx.Err() == nil {
		start := time.Now()
		name, data, code := compute()
		cost := time.Since(start)
		if event := append([]byte(name), data...); !bytes.Equal(event, last) && ctx.Err() == nil {
			if e.send(name, data) != nil {
				return
			}
			last = event
		}
		switch {
		case code == http.StatusUnauthorized:
			return
		case code != 0:
			wait = min(2*wait, maxRetry)
		default:
			wait = interval
		}
		if !pause(ctx, e, max(wait, costFactor*cost)) {
			return
		}
	}
}

// withStream authenticates the user, applies the limits of streams, and calls f with a stream that ends with its context.
func (s *Server) withStream(w http.ResponseWriter, r *http.Request, config *rest.Config, f func(context.Context, *events)) {
	user, err := userOf(r.Context(), config)
	if err != nil {
		writeFailure(w, err)
		return
	}
	release := s.streams.acquire(user.Username)
	if release == nil {
		writeError(w, http.StatusTooManyRequests, tooManyStreams)
		return
	}
	defer release()
	ctx, cancel := context.WithTimeout(r.Context(), streamDuration)
	defer cancel()
	f(ctx, startEvents(w))
}

// computeEvent computes an answer and returns it as an event, with the status code of a failure.
func computeEvent(ctx context.Context, slots chan struct{}, timeout time.Duration, get func(context.Context) ([]byte, error)) (name string, data []byte, code int) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	data, err := compute(ctx, slots, get)
	if err == nil {
		return "answer", compact(data), 0
	}
	f := failureOf(err)
	if errors.Is(err, context.DeadlineExceeded) {
		f = failure{Code: http.StatusGatewayTimeout, Message: timeoutMessage(timeout)}
	}
	data, err = json.Marshal(f)
	if err != nil {
		return "failure", []byte("{}"), f.Code
	}
	return "failure", data, f.Code
}

// pause waits and sends heartbeats. It returns false if the stream ends.
func pause(ctx context.Context, e *events, wait time.Duration) bool {
	end := time.NewTimer(wait)
	defer end.Stop()
	heartbeat := time.NewTicker(heartbeatInterval)
	defer heartbeat.Stop()
	for {
		select {
		case <-end.C:
			return true
		case <-heartbeat.C:
			if e.heartbeat() != nil {
				return false
			}
		case <-ctx.Done():
			return false
		}
	}
}
