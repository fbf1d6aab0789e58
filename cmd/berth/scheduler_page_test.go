package main

import (
	"bytes"
	"crypto/tls"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
)

// TestSchedulerServesPage checks that the page of the scheduler requires a user's token, does not use the scheduler's
// credential, and ends with the scheduler.
func TestSchedulerServesPage(t *testing.T) {
	var f schedulerFlags
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	f.addFlags(flags)
	if err := flags.Set(pageListenFlag, "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("got a request for %s, want none", r.URL.Path)
	}))
	defer server.Close()
	api := &rest.Config{Host: server.URL, BearerToken: "scheduler"}
	var out bytes.Buffer
	stop := make(chan struct{})
	stopped, err := f.startPage(&out, api, stop)
	if err != nil {
		t.Fatal(err)
	}
	url := strings.TrimSpace(strings.TrimPrefix(out.String(), "Web page at "))
	client := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}
	for path, want := range map[string]string{"": "<title>Berth</title>", "api/queue": "sign in first"} {
		r, err := client.Get(url + path)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(r.Body)
		if _ = r.Body.Close(); err != nil || !strings.Contains(string(body), want) {
			t.Errorf("%q: got %.200s, %v; want %q", path, body, err, want)
		}
	}
	close(stop)
	<-stopped
	if r, err := client.Get(url); err == nil {
		_ = r.Body.Close()
		t.Error("the page is still served after the stop")
	}
}
