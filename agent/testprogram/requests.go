package testprogram

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// requestTimeout is longer than an overloaded machine delays a response.
const requestTimeout = 30 * time.Second

// maxFailuresShown is the maximum number of failures that sendRequests prints.
const maxFailuresShown = 20

// sendRequests sends GET requests at a rate per second for a duration, to the URLs in turn, each on
// a separate connection. It does not wait for responses. If it is late, it sends the requests that are due at
// once, so their number does not depend on the load of the machine. It prints the failures and a summary.
func sendRequests(rateText, durationText string, urls []string, out io.Writer) error {
	rate, err := strconv.Atoi(rateText)
	if err != nil || rate < 1 || rate > 100_000 {
		return fmt.Errorf("rate %q: must be a number from 1 to 100000", rateText)
	}
	duration, err := time.ParseDuration(durationText)
	if err != nil {
		return err
	}
	r := requester{out: out, client: &http.Client{Timeout: requestTimeout, Transport: &http.Transport{DisableKeepAlives: true}}}
	var wg sync.WaitGroup
	var sent int64
	total, start := int64(duration.Seconds()*float64(rate)), time.Now()
	err = runPaced(context.Background(), total, int64(rate), func(due int64) error {
		for range due {
			url := urls[sent%int64(len(urls))]
			wg.Go(func() { r.request(url) })
			sent++
		}
		return nil
	})
	elapsed := time.Since(start)
	wg.Wait()
	fmt.Fprintf(out, "sent %d failed %d in %.1f s, slowest response %.1f s\n", sent, r.failed, elapsed.Seconds(), r.slowest.Seconds())
	return err
}

// requester sends requests, counts the failed ones, and prints the first of them.
type requester struct {
	client *http.Client

	mu      sync.Mutex
	out     io.Writer
	failed  int
	slowest time.Duration // of the responses
}

// request sends a request and records its duration or failure.
func (r *requester) request(url string) {
	start := time.Now()
	err := r.get(url)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil {
		r.slowest = max(r.slowest, time.Since(start))
		return
	}
	if r.failed++; r.failed <= maxFailuresShown {
		fmt.Fprintf(r.out, "%s %v\n", time.Now().Format("15:04:05.000"), err)
	}
}

// get reads the response of a GET request. Status codes other than 200 are errors. An error names the last step that
// was completed.
func (r *requester) get(url string) (err error) {
	var step atomic.Value // written by goroutines that can outlive the request
	step.Store("started")
	defer func() {
		if err != nil {
			err = fmt.Errorf("%w (last step: %s)", err, step.Load())
		}
	}()
	ctx := httptrace.WithClientTrace(context.Background(), &httptrace.ClientTrace{
		DNSDone: func(i httptrace.DNSDoneInfo) {
			if i.Err == nil {
				step.Store("resolved the name")
			}
		},
		GotConn:      func(i httptrace.GotConnInfo) { step.Store("connected from " + i.Conn.LocalAddr().String()) },
		WroteRequest: func(httptrace.WroteRequestInfo) { step.Store("wrote the request, " + step.Load().(string)) },
	})
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := r.client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		return fmt.Errorf("reading the response of %s: %w", url, err)
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", url, response.Status)
	}
	return nil
}
