package testprogram

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

// serveHTTP starts the HTTP server.
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
	w.server = server
	context.AfterFunc(ctx, func() { _ = server.Close() })
	go func() { _ = server.Serve(listener) }()
	w.printf("listening at %v", listener.Addr())
	return nil
}

// finishRequests closes the listener and waits for the requests that have begun.
func (w *worker) finishRequests(ctx context.Context) {
	if w.graceful && w.server != nil {
		_ = w.server.Shutdown(ctx)
	}
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
