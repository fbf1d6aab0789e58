package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/berthproject/berth/ui/fleet"
)

// page is a signed-in client of the page.
type page struct {
	client http.Client
	origin string
}

// signIn exchanges the code of the one-time link for a session.
func signIn(ctx context.Context, link string) (*page, error) {
	origin, code, ok := strings.Cut(link, "/ui/#")
	jar, err := cookiejar.New(nil)
	if err != nil || !ok {
		return nil, fmt.Errorf("link %q: must have a code after /ui/#", link)
	}
	p := &page{client: http.Client{Jar: jar}, origin: origin}
	body, err := json.Marshal(map[string]string{"code": code})
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, origin+"/ui/session", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Origin", origin)
	_, err = p.do(request)
	return p, err
}

// get requests an answer from the recording.
func (p *page) get(ctx context.Context, answer string, query url.Values) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.origin+"/ui/api/history/"+answer+"?"+query.Encode(), nil)
	if err != nil {
		return nil, err
	}
	return p.do(request)
}

func (p *page) do(request *http.Request) ([]byte, error) {
	response, err := p.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode/100 != 2 {
		err = fmt.Errorf("%s: %s: %s", request.URL.Path, response.Status, data)
	}
	return data, err
}

// measure requests the answers at instants that are spread over the recording, in a mixed order, and prints their times.
func (o *options) measure(ctx context.Context, link string) error {
	p, err := signIn(ctx, link)
	if err != nil {
		return err
	}
	data, err := p.get(ctx, "range", nil)
	if err != nil {
		return err
	}
	var r struct{ From, To time.Time }
	if err := json.Unmarshal(data, &r); err != nil {
		return fmt.Errorf("range of the recording: %w", err)
	}
	if r.From.IsZero() {
		return fmt.Errorf("range of the recording: got %s: must have a start", data)
	}
	times := map[string][]time.Duration{}
	var largest int
	timed := func(answer string, query url.Values) ([]byte, error) {
		from := time.Now()
		data, err := p.get(ctx, answer, query)
		times[answer] = append(times[answer], time.Since(from))
		return data, err
	}
	for i := range o.instants {
		// 7919 is prime: unless it divides their number, each instant is visited once, in a mixed order.
		at := r.From.Add(r.To.Sub(r.From) * time.Duration((i*7919)%o.instants+1) / time.Duration(o.instants+1)).UTC().Format(time.RFC3339)
		data, err := timed("fleet", url.Values{"at": {at}})
		if err != nil {
			return err
		}
		largest = max(largest, len(data))
		var state fleet.Changes
		if err := json.Unmarshal(data, &state); err != nil {
			return err
		}
		if len(state.Nodes) == 0 || state.Pods == nil {
			return fmt.Errorf("fleet at %s: got %d nodes and no pods, want both", at, len(state.Nodes))
		}
		if _, err := timed("queue", url.Values{"at": {at}}); err != nil {
			return err
		}
		columns := state.Pods
		if _, err := timed("pod", url.Values{"at": {at}, "namespace": {columns.Strings[columns.Namespace[0]]}, "name": {columns.Name[0]}}); err != nil {
			return err
		}
	}
	for _, answer := range []string{"fleet", "queue", "pod"} {
		list := times[answer]
		slices.Sort(list)
		ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
		fmt.Printf("%s at %d instants: median %.0f ms, 90th percentile %.0f ms, maximum %.0f ms\n", answer, len(list), ms(list[len(list)/2]), ms(list[len(list)*9/10]), ms(list[len(list)-1]))
	}
	fmt.Printf("largest fleet: %d KiB\n", largest>>10)
	return nil
}
