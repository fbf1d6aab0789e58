package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	stats "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
)

// getFromNode sends a request to a node's agent through the API server.
func (s *session) getFromNode(ctx context.Context, node, path string) ([]byte, error) {
	data, err := s.client.CoreV1().RESTClient().Get().AbsPath("/api/v1/nodes/" + node + "/proxy/" + path).DoRaw(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading %s at %s: %w", node, path, err)
	}
	return data, nil
}

// nodeStats are statistics reported by a node, in bytes.
type nodeStats struct {
	memoryFree         int64
	diskFree, diskUsed int64
}

func (s *session) nodeStats(ctx context.Context, node string) (out nodeStats, err error) {
	data, err := s.getFromNode(ctx, node, "stats/summary")
	if err != nil {
		return out, err
	}
	var summary stats.Summary
	if err := json.Unmarshal(data, &summary); err != nil {
		return out, fmt.Errorf("reading statistics of node %s: %w", node, err)
	}
	if m := summary.Node.Memory; m != nil && m.AvailableBytes != nil {
		out.memoryFree = int64(*m.AvailableBytes)
	}
	if d := summary.Node.Fs; d != nil && d.AvailableBytes != nil && d.CapacityBytes != nil {
		out.diskFree = int64(*d.AvailableBytes)
		out.diskUsed = int64(*d.CapacityBytes) - out.diskFree
	}
	return out, nil
}

// nodeMetric returns the sum of a metric of a node's agent over all labels.
func (s *session) nodeMetric(ctx context.Context, node, name string) (sum float64, err error) {
	data, err := s.getFromNode(ctx, node, "metrics")
	if err != nil {
		return 0, err
	}
	found := false
	for line := range strings.Lines(string(data)) {
		i := strings.LastIndexByte(strings.TrimSpace(line), ' ')
		if i < 0 {
			continue
		}
		if metric, _, _ := strings.Cut(line[:i], "{"); metric != name {
			continue
		}
		v, err := strconv.ParseFloat(strings.TrimSpace(line[i:]), 64)
		if err != nil {
			return 0, fmt.Errorf("metric %s of node %s: %w", name, node, err)
		}
		sum, found = sum+v, true
	}
	if !found {
		return 0, fmt.Errorf("node %s has no metric %s", node, name)
	}
	return sum, nil
}
