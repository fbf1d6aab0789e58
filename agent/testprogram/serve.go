package testprogram

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

// serveHTTP starts the HTTP server, which runs until ctx ends.
func (w *worker) serveHTTP(ctx context.Context) error {
	listener, err := net.Listen("tcp", w.listen)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/", w.serveHostname)
	mux.HandleFunc("/healthz", w.serveHealthz)
	mux.HandleFunc("/env", func(out http.ResponseWriter, _ *http.Request) { fmt.Fprintln(out, strings.Join(os.Environ(), "\n")) })
	mux.HandleFunc("POST /exit", w.serveExit)
	mux.HandleFunc("POST /memory", w.serveMemory)
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	server.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			w.connections.Add(1)
		case http.StateClosed, http.StateHijacked:
			w.connections.Done()
		}
	}
	w.server, w.listener, w.served = server, listener.(*net.TCPListener), make(chan struct{})
	context.AfterFunc(ctx, func() { _ = server.Close() })
	go func() {
		defer close(w.served)
		_ = server.Serve(deadlineListener{w.listener})
	}()
	w.printf("listening at %v", listener.Addr())
	return nil
}

// backlogTime is the time in which the program accepts pending connections after SIGTERM. The
// kernel resets pending connections when the listener is closed.
const backlogTime = 200 * time.Millisecond

// requestTime is the time in which accepted connections must send their request after SIGTERM.
const requestTime = 5 * time.Second

// finishRequests accepts pending connections, closes the listener and waits until the requests are answered. It calls
// Shutdown only at the end, because Shutdown drops requests that arrive later on accepted connections.
func (w *worker) finishRequests(ctx context.Context) {
	if !w.graceful || w.server == nil {
		return
	}
	_ = w.listener.SetDeadline(time.Now().Add(backlogTime))
	<-w.served
	w.server.SetKeepAlivesEnabled(false) // a connection ends with its response
	answered := make(chan struct{})
	go func() {
		w.connections.Wait()
		close(answered)
	}()
	select {
	case <-answered:
	case <-time.After(requestTime):
	case <-ctx.Done():
	}
	_ = w.server.Shutdown(ctx)
}

// deadlineListener returns net.ErrClosed from Accept when its deadline passes, because http.Server
// retries Accept after a timeout.
type deadlineListener struct{ *net.TCPListener }

// Accept implements net.Listener.
func (l deadlineListener) Accept() (net.Conn, error) {
	conn, err := l.TCPListener.Accept()
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil, net.ErrClosed
	}
	return conn, err
}

func (w *worker) serveHostname(out http.ResponseWriter, _ *http.Request) {
	name, err := os.Hostname()
	if err != nil {
		http.Error(out, err.Error(), http.StatusInternalServerError)
		return
	}
	fmt.Fprintln(out, name)
}

func (w *worker) serveHealthz(out http.ResponseWriter, _ *http.Request) {
	age := time.Since(w.started)
	if age < w.readyAfter || w.unreadyAfter > 0 && age >= w.unreadyAfter {
		http.Error(out, "not well", http.StatusServiceUnavailable)
		return
	}
	fmt.Fprintln(out, "ok")
}

// serveExit ends the program with the requested code.
func (w *worker) serveExit(out http.ResponseWriter, req *http.Request) {
	code, err := strconv.Atoi(req.FormValue("code"))
	if err != nil || code < 0 || code > 255 {
		http.Error(out, fmt.Sprintf("code %q: must be a number from 0 to 255", req.FormValue("code")), http.StatusBadRequest)
		return
	}
	select {
	case w.exitCodes <- code:
	default: // already exiting
	}
}

// serveMemory allocates memory and responds when that is done.
func (w *worker) serveMemory(out http.ResponseWriter, req *http.Request) {
	var amount, rate size
	if err := amount.Set(req.FormValue("bytes")); err != nil {
		http.Error(out, "bytes "+err.Error(), http.StatusBadRequest)
		return
	}
	if r := req.FormValue("rate"); r != "" {
		if err := rate.Set(r); err != nil {
			http.Error(out, "rate "+err.Error(), http.StatusBadRequest)
			return
		}
	}
	if err := w.allocateMemory(context.WithoutCancel(req.Context()), int64(amount), int64(rate)); err != nil {
		http.Error(out, err.Error(), http.StatusInternalServerError)
	}
}
