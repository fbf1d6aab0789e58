package workload

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

// serve starts to serve HTTP.
func (w *work) serve(ctx context.Context) error {
	listener, err := net.Listen("tcp", w.listen)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/", w.host)
	mux.HandleFunc("/healthz", w.healthz)
	mux.HandleFunc("/env", func(out http.ResponseWriter, _ *http.Request) { fmt.Fprintln(out, strings.Join(os.Environ(), "\n")) })
	mux.HandleFunc("POST /exit", w.exitNow)
	mux.HandleFunc("POST /memory", w.moreMemory)
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	go func() { _ = server.Serve(listener) }()
	w.say("listening at %v", listener.Addr())
	return nil
}

func (w *work) host(out http.ResponseWriter, _ *http.Request) {
	name, err := os.Hostname()
	if err != nil {
		http.Error(out, err.Error(), http.StatusInternalServerError)
		return
	}
	fmt.Fprintln(out, name)
}

func (w *work) healthz(out http.ResponseWriter, _ *http.Request) {
	age := time.Since(w.began)
	if age < w.readyAfter || w.unreadyAfter > 0 && age >= w.unreadyAfter {
		http.Error(out, "not well", http.StatusServiceUnavailable)
		return
	}
	fmt.Fprintln(out, "ok")
}

// exitNow ends the program with the code that is asked for.
func (w *work) exitNow(out http.ResponseWriter, req *http.Request) {
	code, err := strconv.Atoi(req.FormValue("code"))
	if err != nil || code < 0 || code > 255 {
		http.Error(out, fmt.Sprintf("code %q: must be a number from 0 to 255", req.FormValue("code")), http.StatusBadRequest)
		return
	}
	select {
	case w.end <- code:
	default: // it ends already
	}
}

// moreMemory takes memory and answers when it is taken.
func (w *work) moreMemory(out http.ResponseWriter, req *http.Request) {
	var bytes, rate size
	if err := bytes.Set(req.FormValue("bytes")); err != nil {
		http.Error(out, "bytes "+err.Error(), http.StatusBadRequest)
		return
	}
	if r := req.FormValue("rate"); r != "" {
		if err := rate.Set(r); err != nil {
			http.Error(out, "rate "+err.Error(), http.StatusBadRequest)
			return
		}
	}
	if err := w.takeMemory(context.WithoutCancel(req.Context()), int64(bytes), int64(rate)); err != nil {
		http.Error(out, err.Error(), http.StatusInternalServerError)
	}
}
