package apiserver

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
)

// loopbackTransport is an http.RoundTripper that calls the server's handlers in process, without a
// socket. Requests pass authentication, authorization and admission.
type loopbackTransport struct {
	mu sync.RWMutex
	// handler is set once the server is assembled. Requests before that fail.
	handler http.Handler
}

func (l *loopbackTransport) setHandler(h http.Handler) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.handler = h
}

// clientConfig returns a client configuration that authenticates with token, the server's loopback
// token.
func (l *loopbackTransport) clientConfig(token string) *rest.Config {
	return &rest.Config{
		Host:        "https://loopback.invalid",
		Transport:   l,
		BearerToken: token,
		QPS:         -1,
		// Warnings are for users. A caller that needs them sets a handler on its copy.
		WarningHandler: rest.NoWarnings{},
		UserAgent:      "berth/in-process",
		ContentConfig: rest.ContentConfig{
			ContentType:        runtime.ContentTypeProtobuf,
			AcceptContentTypes: runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON,
		},
	}
}

// RoundTrip serves req. The response of a watch or a followed log is streamed; any other response
// is complete when RoundTrip returns.
func (l *loopbackTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	l.mu.RLock()
	handler := l.handler
	l.mu.RUnlock()
	if handler == nil {
		return nil, fmt.Errorf("the API server has not started yet")
	}
	inner := req.Clone(valuelessContext{req.Context()})
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

// valuelessContext has no values. A handler may call the server with the context of the request that it handles. The
// values of that context, such as the audit event, must not reach the inner request.
type valuelessContext struct{ context.Context }

// Value implements context.Context.
func (valuelessContext) Value(any) any { return nil }

// AfterFunc cancels derived contexts without a goroutine for each.
func (c valuelessContext) AfterFunc(f func()) (stop func() bool) {
	return context.AfterFunc(c.Context, f)
}

// serveRecovered calls the handler and returns a panic, which would abort a connection, as an
// error.
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

// bufferedResponseWriter buffers a complete response.
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

// CloseNotify returns nil: the caller waits for the complete response.
func (w *bufferedResponseWriter) CloseNotify() <-chan bool { return nil }

// serveStream runs the handler in a goroutine and returns once the response header is written.
// Closing the response body cancels the request.
func serveStream(handler http.Handler, req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(req.Context())
	pipe := newBufferedPipe()
	w := &streamingResponseWriter{header: http.Header{}, pipe: pipe, headerWritten: make(chan struct{})}
	go func() {
		err := cmp.Or(serveRecovered(handler, w, req.WithContext(ctx)), context.Cause(ctx)) // a canceled stream does not end with io.EOF
		w.WriteHeader(http.StatusOK)
		pipe.closeWrite(err) // nil ends the stream with io.EOF
		cancel()
	}()
	// closeWrite keeps its first error, so this does not replace a regular end of the stream.
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

// streamingResponseWriter passes the response body to its reader while the handler runs.
type streamingResponseWriter struct {
	header http.Header
	pipe   *bufferedPipe
	once   sync.Once
	// headerWritten is closed once code and writtenHeader, a copy of the header, are set.
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

// Write discards data after the reader has closed the body. The canceled request context makes
// the handler return.
func (w *streamingResponseWriter) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	n, err := w.pipe.Write(p)
	if errors.Is(err, io.ErrClosedPipe) {
		return len(p), nil
	}
	return n, err
}

func (w *streamingResponseWriter) Flush() { w.WriteHeader(http.StatusOK) }

// CloseNotify returns nil: the request context is canceled instead.
func (w *streamingResponseWriter) CloseNotify() <-chan bool { return nil }
