package usage

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

	"github.com/berthproject/berth/apiserver/reach"
)

const (
	// freshFor is how long an answer of an agent is good.
	freshFor = 2 * time.Second
	// answerWithin bounds how long an agent may take, others who ask for the same node
	// before included.
	answerWithin = 5 * time.Second
	// rateAfter is how long to wait for the second measurement where an agent
	// has only one: a rate is of two.
	rateAfter = time.Second
	// atOnce is how many agents are asked at a time.
	atOnce = 30
	// sizeLimit bounds a summary: some kilobytes a pod.
	sizeLimit = 32 << 20
	// defaultWindow is told where it is not known over which time a rate was measured.
	defaultWindow = 10 * time.Second
)

// sample is what a node said.
type sample struct {
	summary *stats.Summary
	at      time.Time     // when it was asked
	window  time.Duration // between its figures and those before
}

// summaries asks agents and remembers.
type summaries struct {
	agents *reach.Agents

	mu    sync.Mutex
	known map[string]*entry // by node
}

// entry is one node's; whoever has the turn asks, others wait for the answer.
type entry struct {
	turn chan struct{} // holds one value while it is taken
	last sample
}

func (s *summaries) entry(node string) *entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.known[node]
	if e == nil {
		e = &entry{turn: make(chan struct{}, 1)}
		s.known[node] = e
	}
	return e
}

// keep forgets all nodes but those.
func (s *summaries) keep(nodes map[string]bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name := range s.known {
		if !nodes[name] {
			delete(s.known, name)
		}
	}
}

// of is what the node's agent says now, or said a moment ago, but after a time.
func (s *summaries) of(ctx context.Context, node *corev1.Node, after time.Time) (sample, error) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	e := s.entry(node.Name)
	select {
	case e.turn <- struct{}{}:
		defer func() { <-e.turn }()
	case <-ctx.Done():
		return sample{}, ctx.Err()
	}
	if e.last.summary != nil && time.Since(e.last.at) < freshFor && e.last.at.After(after) {
		return e.last, nil
	}
	got, err := s.ask(ctx, node)
	if err == nil && !rated(got) {
		e.last = sample{summary: got, at: time.Now()}
		select {
		case <-ctx.Done():
			return sample{}, ctx.Err()
		case <-time.After(rateAfter):
		}
		got, err = s.ask(ctx, node)
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

// rated says that the summary has rates of CPU use, of all that it has CPU times of.
func rated(s *stats.Summary) bool {
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

func (s *summaries) ask(ctx context.Context, node *corev1.Node) (*stats.Summary, error) {
	agent, err := s.agents.OfNode(node)
	if err != nil {
		return nil, err
	}
	u := agent.At("/stats/summary", url.Values{"only_cpu_and_memory": {"true"}})
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	resp, err := agent.Transport.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, sizeLimit))
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

// all is what those of the nodes say that answer, after a time for each.
func (s *summaries) all(ctx context.Context, nodes []*corev1.Node, after map[string]time.Time) map[string]sample {
	var mu sync.Mutex
	var wg sync.WaitGroup
	gate := make(chan struct{}, atOnce)
	found := make(map[string]sample, len(nodes))
	for _, n := range nodes {
		gate <- struct{}{}
		wg.Go(func() {
			defer func() { <-gate }()
			if got, err := s.of(ctx, n, after[n.Name]); err == nil {
				mu.Lock()
				defer mu.Unlock()
				found[n.Name] = got
			}
		})
	}
	wg.Wait()
	return found
}
