package metricsapi

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	stats "k8s.io/kubelet/pkg/apis/stats/v1alpha1"

	"github.com/berthproject/berth/apiserver/nodeclient"
)

const (
	// cacheTTL is how long a summary is reused.
	cacheTTL = 2 * time.Second
	// requestTimeout bounds a request to an agent, including the wait for concurrent requests to
	// the same node.
	requestTimeout = 5 * time.Second
	// secondSampleDelay is the delay before the second sample, if an agent has only one: CPU rates
	// need two.
	secondSampleDelay = time.Second
	// maxConcurrentRequests bounds the concurrent requests to agents.
	maxConcurrentRequests = 30
	// maxSummaryBytes bounds a summary, which has some kilobytes per pod.
	maxSummaryBytes = 32 << 20
	// defaultWindow is reported if the time between two samples is unknown.
	defaultWindow = 10 * time.Second
)

// sample is a summary of a node.
type sample struct {
	summary *stats.Summary
	at      time.Time     // when it was received
	window  time.Duration // time since the previous sample
}

// summaryCache reads and caches the summaries of nodes.
type summaryCache struct {
	nodes *nodeclient.ConnectionGetter

	mu      sync.Mutex
	entries map[string]*cacheEntry // by node
}

// cacheEntry is the cached sample of a node. The holder of the lock reads the summary; other callers
// wait for it.
type cacheEntry struct {
	lock chan struct{} // holds a value while locked
	last sample
}

func (s *summaryCache) entry(node string) *cacheEntry {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.entries[node]
	if e == nil {
		e = &cacheEntry{lock: make(chan struct{}, 1)}
		s.entries[node] = e
	}
	return e
}

// prune removes the entries of nodes that are not in the set.
func (s *summaryCache) prune(nodes map[string]bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name := range s.entries {
		if !nodes[name] {
			delete(s.entries, name)
		}
	}
}

// get returns the summary of a node. It uses the cached sample if it is recent and newer than
// after.
func (s *summaryCache) get(ctx context.Context, node *corev1.Node, after time.Time) (sample, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	e := s.entry(node.Name)
	select {
	case e.lock <- struct{}{}:
		defer func() { <-e.lock }()
	case <-ctx.Done():
		return sample{}, ctx.Err()
	}
	if e.last.summary != nil && time.Since(e.last.at) < cacheTTL && e.last.at.After(after) {
		return e.last, nil
	}
	summary, err := s.fetch(ctx, node)
	if err == nil && !hasCPURates(summary) {
		e.last = sample{summary: summary, at: time.Now()}
		select {
		case <-ctx.Done():
			return sample{}, ctx.Err()
		case <-time.After(secondSampleDelay):
		}
		summary, err = s.fetch(ctx, node)
	}
	if err != nil {
		return sample{}, err
	}
	next := sample{summary: summary, at: time.Now(), window: defaultWindow}
	if previous := e.last.summary; previous != nil && previous.Node.CPU != nil && summary.Node.CPU != nil {
		if d := summary.Node.CPU.Time.Sub(previous.Node.CPU.Time.Time).Round(time.Millisecond); d > 0 {
			next.window = d
		}
	}
	e.last = next
	return next, nil
}

// hasCPURates reports whether the summary has CPU rates wherever it has CPU times.
func hasCPURates(s *stats.Summary) bool {
	hasRate := func(c *stats.CPUStats) bool { return c == nil || c.UsageNanoCores != nil }
	for i := range s.Pods {
		for j := range s.Pods[i].Containers {
			if !hasRate(s.Pods[i].Containers[j].CPU) {
				return false
			}
		}
	}
	return hasRate(s.Node.CPU)
}

func (s *summaryCache) fetch(ctx context.Context, node *corev1.Node) (*stats.Summary, error) {
	agent, err := s.nodes.ForNode(node)
	if err != nil {
		return nil, err
	}
	u := agent.URLFor("/stats/summary", url.Values{"only_cpu_and_memory": {"true"}})
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	resp, err := agent.Transport.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxSummaryBytes))
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("node agent responded %s: %.200s", resp.Status, body)
	}
	summary := &stats.Summary{}
	if err := json.Unmarshal(body, summary); err != nil {
		return nil, fmt.Errorf("decoding the summary: %w", err)
	}
	return summary, nil
}

// getAll returns the samples of the nodes that respond, by name. A sample is newer than the time in after
// for its node.
func (s *summaryCache) getAll(ctx context.Context, nodes []*corev1.Node, after map[string]time.Time) map[string]sample {
	var mu sync.Mutex
	var wg sync.WaitGroup
	gate := make(chan struct{}, maxConcurrentRequests)
	samples := make(map[string]sample, len(nodes))
	for _, n := range nodes {
		gate <- struct{}{}
		wg.Go(func() {
			defer func() { <-gate }()
			if fetched, err := s.get(ctx, n, after[n.Name]); err == nil {
				mu.Lock()
				defer mu.Unlock()
				samples[n.Name] = fetched
			}
		})
	}
	wg.Wait()
	return samples
}
