package metrics

import (
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// NewRegistry returns a registry with metrics of the process: build, memory, goroutines.
func NewRegistry() *prometheus.Registry {
	r := prometheus.NewRegistry()
	r.MustRegister(buildInfo(), KubernetesBuildInfo(), collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return r
}

// Register registers metrics. If registerer is nil, the metrics are not exposed. It returns an error if a name is
// registered already.
func Register(registerer prometheus.Registerer, metrics ...prometheus.Collector) error {
	if registerer == nil {
		return nil
	}
	for _, m := range metrics {
		if err := registerer.Register(m); err != nil {
			return err
		}
	}
	return nil
}

// KubernetesVersion is the Kubernetes version that Berth implements, as /version reports it. It is
// a constant and not set by the linker, so that `go run` builds a server that kubectl understands.
// The suffix distinguishes it from a Kubernetes server.
const KubernetesVersion = "v1.37.2+berth"

// KubernetesBuildInfo returns kubernetes_build_info with the version that Berth implements.
// Dashboards join it with other metrics.
func KubernetesBuildInfo() prometheus.Collector {
	labels := buildLabels()
	major, remainder, _ := strings.Cut(strings.TrimPrefix(KubernetesVersion, "v"), ".")
	minor, _, _ := strings.Cut(remainder, ".")
	labels["major"], labels["minor"], labels["git_version"] = major, minor, KubernetesVersion
	g := prometheus.NewGauge(prometheus.GaugeOpts{Name: "kubernetes_build_info", ConstLabels: labels,
		Help: "1, with the Kubernetes version that Berth implements and the build as labels."})
	g.Set(1)
	return g
}

// buildInfo returns a metric with the labels of kubernetes_build_info.
func buildInfo() prometheus.Collector {
	g := prometheus.NewGauge(prometheus.GaugeOpts{Name: "berth_build_info", Help: "1, with the build as labels.", ConstLabels: buildLabels()})
	g.Set(1)
	return g
}

func buildLabels() prometheus.Labels {
	labels := prometheus.Labels{"git_version": "", "git_commit": "", "git_tree_state": "", "build_date": "",
		"go_version": runtime.Version(), "compiler": runtime.Compiler, "platform": runtime.GOOS + "/" + runtime.GOARCH}
	if b, ok := debug.ReadBuildInfo(); ok {
		labels["git_version"] = b.Main.Version
		for _, s := range b.Settings {
			switch s.Key {
			case "vcs.revision":
				labels["git_commit"] = s.Value
			case "vcs.time":
				labels["build_date"] = s.Value
			case "vcs.modified":
				labels["git_tree_state"] = map[string]string{"true": "dirty", "false": "clean"}[s.Value]
			}
		}
	}
	return labels
}
