package ui

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

const eventStream = "text/event-stream"

// eventTimeout bounds the time in which a client receives an event.
const eventTimeout = 20 * time.Second

// heartbeatInterval is the interval of comments in a stream without events. They reveal lost connections.
const heartbeatInterval = 15 * time.Second

func wantsEvents(r *http.Request) bool { return r.Header.Get("Accept") == eventStream }

// events writes server-sent events. It has no queue: a write blocks until the client has received it, or fails.
type events struct {
	w          io.Writer
	controller *http.ResponseController
}

func startEvents(w http.ResponseWriter) *events {
	w.Header().Set("Content-Type", eventStream)
	w.WriteHeader(http.StatusOK)
	return &events{w: w, controller: http.NewResponseController(w)}
}

// send sends an event whose data has no line breaks.
func (e *events) send(name string, data []byte) error {
	return e.write("event: " + name + "\ndata: " + string(data) + "\n\n")
}

func (e *events) sendJSON(name string, value any) error {
	data, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return e.send(name, data)
}

func (e *events) heartbeat() error { return e.write(": heartbeat\n\n") }

func (e *events) write(text string) error {
	// The errors of both are ignored where the writers of tests do not support them.
	_ = e.controller.SetWriteDeadline(time.Now().Add(eventTimeout))
	if _, err := io.WriteString(e.w, text); err != nil {
		return err
	}
	if err := e.controller.Flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	return nil
}

// failure is an error in an answer or an event.
type failure struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Line    int    `json:"line,omitempty"` // of a scenario
}

// failureOf returns the status of the API server, or 502.
func failureOf(err error) failure {
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Code >= http.StatusBadRequest {
		return failure{Code: int(status.Status().Code), Message: err.Error()}
	}
	return failure{Code: http.StatusBadGateway, Message: err.Error()}
}

// compact returns JSON on one line.
func compact(data []byte) []byte {
	if !strings.ContainsAny(string(data), "\n\r") {
		return data
	}
	out, err := json.Marshal(json.RawMessage(data))
	if err != nil {
		return []byte("null")
	}
	return out
}
