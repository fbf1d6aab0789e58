package componentserver

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"k8s.io/component-base/metrics/legacyregistry"
	_ "k8s.io/component-base/metrics/prometheus/restclient" // rest_client_*: requests of all clients in the process
)

// NewMux returns a mux that serves metrics at /metrics and config, as JSON, at /configz. /metrics includes the
// process-wide metrics of Kubernetes libraries whose names start with one of the prefixes. Callers may add paths.
func NewMux(metrics prometheus.Gatherer, config any, prefixes ...string) *http.ServeMux {
	mux := http.NewServeMux()
	gatherers := prometheus.Gatherers{metrics, prometheus.GathererFunc(filterByPrefix(legacyregistry.DefaultGatherer.Gather, prefixes))}
	mux.Handle("GET /metrics", promhttp.HandlerFor(gatherers, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /configz", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(config)
	})
	return mux
}

// filterByPrefix returns a function that gathers only metrics whose names start with one of the prefixes.
func filterByPrefix[F interface{ GetName() string }](gather func() ([]F, error), prefixes []string) func() ([]F, error) {
	return func() ([]F, error) {
		if len(prefixes) == 0 {
			return nil, nil
		}
		families, err := gather()
		return slices.DeleteFunc(families, func(f F) bool {
			return !slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(f.GetName(), prefix) })
		}), err
	}
}
