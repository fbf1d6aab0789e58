package server

import (
	"context"
	"net/http"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	stats "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
)

// summary serves /stats/summary. With only_cpu_and_memory=true it serves only CPU and memory.
func (s *Server) summary(w http.ResponseWriter, r *http.Request, n *Node) {
	sum, err := getSummary(r, n)
	if err != nil {
		writeError(w, err)
		return
	}
	if cpuAndMemory, err := strconv.ParseBool(r.URL.Query().Get("only_cpu_and_memory")); err == nil && cpuAndMemory {
		sum = cpuAndMemoryOnly(sum)
	}
	writeJSON(w, sum)
}

func getSummary(r *http.Request, n *Node) (*stats.Summary, error) {
	if n.Summary == nil {
		return nil, newStatusError(http.StatusNotFound, "node %q does not provide usage", n.Name)
	}
	return n.Summary(r.Context())
}

// cpuAndMemoryOnly returns the CPU and memory part of a summary.
func cpuAndMemoryOnly(s *stats.Summary) *stats.Summary {
	out := &stats.Summary{Node: stats.NodeStats{NodeName: s.Node.NodeName, StartTime: s.Node.StartTime, CPU: s.Node.CPU, Memory: s.Node.Memory}, Pods: make([]stats.PodStats, 0, len(s.Pods))}
	for _, c := range s.Node.SystemContainers {
		out.Node.SystemContainers = append(out.Node.SystemContainers, cpuAndMemory(c))
	}
	for _, p := range s.Pods {
		q := stats.PodStats{PodRef: p.PodRef, StartTime: p.StartTime, CPU: p.CPU, Memory: p.Memory}
		for _, c := range p.Containers {
			q.Containers = append(q.Containers, cpuAndMemory(c))
		}
		out.Pods = append(out.Pods, q)
	}
	return out
}

func cpuAndMemory(c stats.ContainerStats) stats.ContainerStats {
	return stats.ContainerStats{Name: c.Name, StartTime: c.StartTime, CPU: c.CPU, Memory: c.Memory}
}

// metrics serves /metrics.
func (s *Server) metrics(w http.ResponseWriter, r *http.Request, n *Node) {
	if n.Metrics == nil {
		writeError(w, newStatusError(http.StatusNotFound, "node %q does not provide metrics", n.Name))
		return
	}
	promhttp.HandlerFor(n.Metrics, promhttp.HandlerOpts{}).ServeHTTP(w, r)
}

// resourceMetrics serves /metrics/resource: CPU and memory of the summary as metrics.
func (s *Server) resourceMetrics(w http.ResponseWriter, r *http.Request, n *Node) {
	sum, err := getSummary(r, n)
	if err != nil {
		writeError(w, err)
		return
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(resourceCollector{sum})
	promhttp.HandlerFor(registry, promhttp.HandlerOpts{}).ServeHTTP(w, r)
}

// containerMetrics serves /metrics/cadvisor: the usage of containers, read now from their cgroups.
func (s *Server) containerMetrics(w http.ResponseWriter, r *http.Request, n *Node) {
	if n.Containers == nil {
		writeError(w, newStatusError(http.StatusNotFound, "node %q does not provide container metrics", n.Name))
		return
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(n.Containers)
	// A container that stops during the collection has only some series; those of the others are still correct.
	promhttp.HandlerFor(registry, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError}).ServeHTTP(w, r)
}

// serveReport serves /disk or /pressure.
func serveReport(w http.ResponseWriter, r *http.Request, n *Node, name string, get func(context.Context) (any, error)) {
	if get == nil {
		writeError(w, newStatusError(http.StatusNotFound, "node %q does not provide a %s report", n.Name, name))
		return
	}
	report, err := get(r.Context())
	if err != nil {
		writeError(w, err)
		return
	}
	writeJSON(w, report)
}
