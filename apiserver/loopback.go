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

// loopbackTransport carries requests of this process to the handlers without a socket.
// They pass through all of authentication, authorization and admission.
type loopbackTransport struct {
	// handler is set when the server is assembled; requests before that fail.
	mu      sync.RWMutex
	handler http.Handler
}

func (l *loopbackTransport) setHandler(h http.Handler) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.handler = h
}

// clientConfig is a client configuration whose token the server knows as its own.
func (l *loopbackTransport) clientConfig(token string) *rest.Config {
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
func (l *loopbackTransport) RoundTrip(req *http.Request) (*http.Response, error) {
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
		return serveStream(handler, inner)
	}
	w := &bufferedResponseWriter{header: http.Header{}}
	if err := serveRecovered(handler, w, inner); err != nil {
		return nil, err
	}
	return newResponse(req, w.code, w.header, io.NopCloser(&w.body), int64(w.body.Len())), nil
}

// serveRecovered runs the handler and turns its panics, which would end a connection, into errors.
func serveRecovered(handler http.Handler, w http.ResponseWriter, req *http.Request) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%s %s: aborted: %v", req.Method, req.URL.Path, p)
		}
	}()
	handler.ServeHTTP(w, req)
	return nil
}

func newResponse(req *http.Request, code int, header http.Header, body io.ReadCloser, length int64) *http.Response {
	if code == 0 {
		code = http.StatusOK
	}
	return &http.Response{
		Status: fmt.Sprintf("%d %s", code, http.StatusText(code)), StatusCode: code,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: header, Body: body, ContentLength: length, Request: req,
	}
}

// bufferedResponseWriter keeps an answer until it is complete.
type bufferedResponseWriter struct {
	header http.Header
	code   int
	body   bytes.Buffer
}

func (w *bufferedResponseWriter) Header() http.Header { return w.header }

func (w *bufferedResponseWriter) WriteHeader(code int) {
	if w.code == 0 {
		w.code = code
	}
}

func (w *bufferedResponseWriter) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(p)
}

func (w *bufferedResponseWriter) Flush() {}

// CloseNotify never fires: the caller waits for the whole answer.
func (w *bufferedResponseWriter) CloseNotify() <-chan bool { return nil }

// serveStream answers while the handler still runs. It returns when the head of
// the answer is known; closing the body ends the request.
func serveStream(handler http.Handler, req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(req.Context())
	pipe := newBufferedPipe()
	w := &streamingResponseWriter{header: http.Header{}, pipe: pipe, headerWritten: make(chan struct{})}
	go func() {
		err := serveRecovered(handler, w, req.WithContext(ctx))
		w.WriteHeader(http.StatusOK)
		pipe.closeWrite(err) // nil is the end of the stream
		cancel()
	}()
	// The first error of a conduit stays, so this does not hide a regular end.
	context.AfterFunc(ctx, func() { pipe.closeWrite(context.Cause(ctx)) })
	<-w.headerWritten
	return newResponse(req, w.code, w.writtenHeader, streamBody{pipe, cancel}, -1), nil
}

type streamBody struct {
	*bufferedPipe
	cancel context.CancelFunc
}

func (b streamBody) Close() error {
	b.cancel()
	return b.bufferedPipe.Close()
}

// streamingResponseWriter hands what is written to the reader of the answer.
type streamingResponseWriter struct {
	header http.Header
	pipe   *bufferedPipe
	once   sync.Once
	// headerWritten is closed when code and sent, a copy of the header, are known.
	headerWritten chan struct{}
	code          int
	writtenHeader http.Header
}

func (w *streamingResponseWriter) Header() http.Header { return w.header }

func (w *streamingResponseWriter) WriteHeader(code int) {
	w.once.Do(func() {
		w.code, w.writtenHeader = code, w.header.Clone()
		close(w.headerWritten)
	})
}

// Write drops what nobody reads any more; the request's context tells the handler to end.
func (w *streamingResponseWriter) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	n, err := w.pipe.Write(p)
	if errors.Is(err, io.ErrClosedPipe) {
		return len(p), nil
	}
	return n, err
}

func (w *streamingResponseWriter) Flush() { w.WriteHeader(http.StatusOK) }

// CloseNotify never fires: the request's context ends instead.
func (w *streamingResponseWriter) CloseNotify() <-chan bool { return nil }
