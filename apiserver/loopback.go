package apiserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
)

// loopback carries requests of this process to the handlers without a socket.
// They pass through all of authentication, authorization and admission.
type loopback struct {
	// handler is set when the server is assembled; requests before that fail.
	mu      sync.RWMutex
	handler http.Handler
}

func (l *loopback) set(h http.Handler) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.handler = h
}

// config is a client configuration whose token the server knows as its own.
func (l *loopback) config(token string) *rest.Config {
	return &rest.Config{
		Host:        "https://loopback.invalid",
		Transport:   l,
		BearerToken: token,
		QPS:         -1,
		// Warnings are for people; whoever wants them here sets a handler on his copy.
		WarningHandler: rest.NoWarnings{},
		UserAgent:      "berth/in-process",
		ContentConfig: rest.ContentConfig{
			ContentType:        runtime.ContentTypeProtobuf,
			AcceptContentTypes: runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON,
		},
	}
}

// RoundTrip answers a request. A watch streams its answer; anything else is
// answered whole before RoundTrip returns.
func (l *loopback) RoundTrip(req *http.Request) (*http.Response, error) {
	l.mu.RLock()
	handler := l.handler
	l.mu.RUnlock()
	if handler == nil {
		return nil, fmt.Errorf("the API server is not assembled yet")
	}
	inner := req.Clone(req.Context())
	inner.RequestURI = req.URL.RequestURI()
	inner.RemoteAddr = "127.0.0.1:0"
	inner.Host = req.URL.Host
	if inner.Body == nil {
		inner.Body = http.NoBody
	}
	defer inner.Body.Close()
	query := req.URL.Query()
	if query.Has("watch") || query.Has("follow") {
		return stream(handler, inner)
	}
	w := &wholeWriter{header: http.Header{}}
	if err := serve(handler, w, inner); err != nil {
		return nil, err
	}
	return response(req, w.code, w.header, io.NopCloser(&w.body), int64(w.body.Len())), nil
}

// serve runs the handler and turns its panics, which would end a connection, into errors.
func serve(handler http.Handler, w http.ResponseWriter, req *http.Request) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%s %s: aborted: %v", req.Method, req.URL.Path, p)
		}
	}()
	handler.ServeHTTP(w, req)
	return nil
}

func response(req *http.Request, code int, header http.Header, body io.ReadCloser, length int64) *http.Response {
	if code == 0 {
		code = http.StatusOK
	}
	return &http.Response{
		Status: fmt.Sprintf("%d %s", code, http.StatusText(code)), StatusCode: code,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: header, Body: body, ContentLength: length, Request: req,
	}
}

// wholeWriter keeps an answer until it is complete.
type wholeWriter struct {
	header http.Header
	code   int
	body   bytes.Buffer
}

func (w *wholeWriter) Header() http.Header { return w.header }

func (w *wholeWriter) WriteHeader(code int) {
	if w.code == 0 {
		w.code = code
	}
}

func (w *wholeWriter) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(p)
}

func (w *wholeWriter) Flush() {}

// CloseNotify never fires: the caller waits for the whole answer.
func (w *wholeWriter) CloseNotify() <-chan bool { return nil }

// stream answers while the handler still runs. It returns when the head of
// the answer is known; closing the body ends the request.
func stream(handler http.Handler, req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(req.Context())
	pipe := newConduit()
	w := &streamWriter{header: http.Header{}, pipe: pipe, head: make(chan struct{})}
	go func() {
		err := serve(handler, w, req.WithContext(ctx))
		w.WriteHeader(http.StatusOK)
		pipe.end(err) // nil is the end of the stream
		cancel()
	}()
	// The first error of a conduit stays, so this does not hide a regular end.
	context.AfterFunc(ctx, func() { pipe.end(context.Cause(ctx)) })
	<-w.head
	return response(req, w.code, w.sent, streamBody{pipe, cancel}, -1), nil
}

type streamBody struct {
	*conduit
	cancel context.CancelFunc
}

func (b streamBody) Close() error {
	b.cancel()
	return b.conduit.Close()
}

// streamWriter hands what is written to the reader of the answer.
type streamWriter struct {
	header http.Header
	pipe   *conduit
	once   sync.Once
	// head is closed when code and sent, a copy of the header, are known.
	head chan struct{}
	code int
	sent http.Header
}

func (w *streamWriter) Header() http.Header { return w.header }

func (w *streamWriter) WriteHeader(code int) {
	w.once.Do(func() {
		w.code, w.sent = code, w.header.Clone()
		close(w.head)
	})
}

// Write drops what nobody reads any more; the request's context tells the handler to end.
func (w *streamWriter) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	n, err := w.pipe.Write(p)
	if errors.Is(err, io.ErrClosedPipe) {
		return len(p), nil
	}
	return n, err
}

func (w *streamWriter) Flush() { w.WriteHeader(http.StatusOK) }

// CloseNotify never fires: the request's context ends instead.
func (w *streamWriter) CloseNotify() <-chan bool { return nil }
