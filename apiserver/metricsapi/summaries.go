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
	// cacheTTL is how long an answer of an agent is good.
	cacheTTL = 2 * time.Second
	// requestTimeout bounds how long an agent may take, others who ask for the same node
	// before included.
	requestTimeout = 5 * time.Second
	// secondSampleDelay is how long to wait for the second measurement where an agent
	// has only one: a rate is of two.
	secondSampleDelay = time.Second
	// maxConcurrentRequests is how many agents are asked at a time.
	maxConcurrentRequests = 30
	// maxSummaryBytes bounds a summary: some kilobytes a pod.
	maxSummaryBytes = 32 << 20
	// defaultWindow is told where it is not known over which time a rate was measured.
	defaultWindow = 10 * time.Second
)

// sample is what a node said.
type sample struct {
	summary *stats.Summary
	at      time.Time     // when it was asked
	window  time.Duration // between its figures and those before
}

// summaryCache asks agents and remembers.
type summaryCache struct {
	nodes *nodeclient.ConnectionGetter

	mu      sync.Mutex
	entries map[string]*cacheEntry // by node
}

// cacheEntry is one node's; whoever has the turn asks, others wait for the answer.
type cacheEntry struct {
	lock chan struct{} // holds one value while it is taken
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

// prune forgets all nodes but those.
func (s *summaryCache) prune(nodes map[string]bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name := range s.entries {
		if !nodes[name] {
			delete(s.entries, name)
		}
	}
}

// get is what the node's agent says now, or said a moment ago, but after a time.
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
	got, err := s.fetch(ctx, node)
	if err == nil && !hasCPURates(got) {
		e.last = sample{summary: got, at: time.Now()}
		select {
		case <-ctx.Done():
			return sample{}, ctx.Err()
		case <-time.After(secondSampleDelay):
		}
		got, err = s.fetch(ctx, node)
	}
	if err != nil {
		return sample{}, err
	}
	next := sample{summary: got, at: time.Now(), window: defaultWindow}
	if was := e.last.summary; was != nil && was.Node.CPU != nil && got.Node.CPU != nil {
		if d := got.Node.CPU.Time.Sub(was.Node.CPU.Time.Time).Round(time.Millisecond); d > 0 {
			next.window = d
		}
	}
	e.last = next
	return next, nil
}

// hasCPURates says that the summary has rates of CPU use, of all that it has CPU times of.
func hasCPURates(s *stats.Summary) bool {
	known := func(c *stats.CPUStats) bool { return c == nil || c.UsageNanoCores != nil }
	for i := range s.Pods {
		for j := range s.Pods[i].Containers {
			if !known(s.Pods[i].Containers[j].CPU) {
				return false
			}
		}
	}
	return known(s.Node.CPU)
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
		return nil, fmt.Errorf("the agent answers %s: %.200s", resp.Status, body)
	}
	summary := &stats.Summary{}
	if err := json.Unmarshal(body, summary); err != nil {
		return nil, fmt.Errorf("the agent's summary: %w", err)
	}
	return summary, nil
}

// getAll is what those of the nodes say that answer, after a time for each.
func (s *summaryCache) getAll(ctx context.Context, nodes []*corev1.Node, after map[string]time.Time) map[string]sample {
	var mu sync.Mutex
	var wg sync.WaitGroup
	gate := make(chan struct{}, maxConcurrentRequests)
	found := make(map[string]sample, len(nodes))
	for _, n := range nodes {
		gate <- struct{}{}
		wg.Go(func() {
			defer func() { <-gate }()
			if got, err := s.get(ctx, n, after[n.Name]); err == nil {
				mu.Lock()
				defer mu.Unlock()
				found[n.Name] = got
			}
		})
	}
	wg.Wait()
	return found
}
