package apiserver

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

func newLoopbackClient(h http.HandlerFunc) *http.Client {
	l := &loopbackTransport{}
	l.setHandler(h)
	return &http.Client{Transport: l}
}

func TestLoopbackBuffersResponse(t *testing.T) {
	client := newLoopbackClient(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("X-Path", r.RequestURI)
		w.WriteHeader(http.StatusTeapot)
		fmt.Fprintf(w, "%s %s", r.Method, body)
	})
	resp, err := client.Post("https://x/a?b=c", "text/plain", strings.NewReader("hello"))
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(resp.Body)
	if resp.StatusCode != http.StatusTeapot || resp.Header.Get("X-Path") != "/a?b=c" || string(body) != "POST hello" {
		t.Errorf("got %d %v %q, want 418, the request URI and POST hello", resp.StatusCode, resp.Header, body)
	}
}

func TestLoopbackStreamsWatches(t *testing.T) {
	done := make(chan struct{})
	client := newLoopbackClient(func(w http.ResponseWriter, r *http.Request) {
		defer close(done)
		fmt.Fprint(w, "one\n")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		fmt.Fprint(w, "unread data\n")
	})
	resp, err := client.Get("https://x/pods?watch=true")
	if err != nil {
		t.Fatal(err)
	}
	line := make([]byte, 4)
	if _, err := io.ReadFull(resp.Body, line); err != nil || string(line) != "one\n" {
		t.Errorf("got %q and error %v while the handler runs, want one", line, err)
	}
	resp.Body.Close()
	<-done // closing the body cancels the request
}

func TestLoopbackStreamEnds(t *testing.T) {
	client := newLoopbackClient(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "all") })
	resp, err := client.Get("https://x/pods?watch=1")
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil || string(body) != "all" {
		t.Errorf("got %q and error %v, want the whole response and a regular end", body, err)
	}
}

func TestLoopbackStreamIsCanceled(t *testing.T) {
	client := newLoopbackClient(func(w http.ResponseWriter, r *http.Request) {
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	ctx, cancel := context.WithCancel(t.Context())
	req, _ := http.NewRequestWithContext(ctx, "GET", "https://x/pods?watch=1", nil)
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := io.ReadAll(resp.Body); err == nil {
		t.Error("a canceled watch ended without an error")
	}
}

// TestLoopbackRecoversPanics checks that a panic that would abort a connection is returned as an error.
func TestLoopbackRecoversPanics(t *testing.T) {
	client := newLoopbackClient(func(w http.ResponseWriter, r *http.Request) { panic(http.ErrAbortHandler) })
	if _, err := client.Get("https://x/a"); err == nil {
		t.Error("a request with an aborting handler succeeded")
	}
	if _, err := (&http.Client{Transport: &loopbackTransport{}}).Get("https://x/a"); err == nil {
		t.Error("a request before the server has started succeeded")
	}
}
