//go:build linux

package serviceproxy

import (
	"encoding/json"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/klog/v2"
)

// healthChecks serves the healthCheckNodePort of Services. Load balancers send packets only to
// machines that answer 200, which are those with a ready local endpoint.
type healthChecks struct {
	log     klog.Logger
	mu      sync.Mutex
	servers map[string]*healthServer // by Service
}

// healthServer answers for one Service.
type healthServer struct {
	service string
	port    int32
	server  *http.Server // nil if listening has failed

	mu    sync.Mutex
	local int // number of ready local endpoints
}

// set starts, updates or stops the server of a Service. port is 0 if it has none. local is the number
// of ready local endpoints.
func (h *healthChecks) set(service string, port int32, local int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.servers[service]
	if s != nil && (s.port != port || s.server == nil) {
		s.close()
		delete(h.servers, service)
		s = nil
	}
	if port == 0 {
		return
	}
	if s == nil {
		s = &healthServer{service: service, port: port}
		s.start(h.log)
		h.servers[service] = s
	}
	s.mu.Lock()
	s.local = local
	s.mu.Unlock()
}

func (h *healthChecks) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s := range h.servers {
		s.close()
	}
}

func (s *healthServer) start(log klog.Logger) {
	l, err := net.Listen("tcp", ":"+strconv.Itoa(int(s.port)))
	if err != nil {
		log.Error(err, "Failed to serve the health check of a Service", "service", s.service, "healthCheckNodePort", s.port)
		return
	}
	s.server = &http.Server{Handler: s, ReadTimeout: 5 * time.Second, WriteTimeout: 5 * time.Second, IdleTimeout: 30 * time.Second, MaxHeaderBytes: 4 << 10}
	go func() { _ = s.server.Serve(l) }()
}

func (s *healthServer) close() {
	if s.server != nil {
		_ = s.server.Close()
	}
}

// ServeHTTP responds with status 200 if a local endpoint is ready, else with 503.
func (s *healthServer) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	local := s.local
	s.mu.Unlock()
	namespace, name, _ := strings.Cut(s.service, "/")
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("X-Load-Balancing-Endpoint-Weight", strconv.Itoa(local))
	if local == 0 {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"service": map[string]string{"namespace": namespace, "name": name}, "localEndpoints": local, "serviceProxyHealthy": true})
}

// healthPort returns the healthCheckNodePort and the number of ready local endpoints. The port is 0 if
// the Service has no health check.
func healthPort(s *corev1.Service, list []*discoveryv1.EndpointSlice, loc location) (port int32, local int) {
	if s == nil || s.Spec.Type != corev1.ServiceTypeLoadBalancer || s.Spec.ExternalTrafficPolicy != corev1.ServiceExternalTrafficPolicyLocal {
		return 0, 0
	}
	ready := map[string]bool{}
	for _, slice := range list {
		for i := range slice.Endpoints {
			e := &slice.Endpoints[i]
			if len(e.Addresses) > 0 && deref(e.Conditions.Ready, true) && loc.nodes[deref(e.NodeName, "")] {
				ready[e.Addresses[0]] = true
			}
		}
	}
	return s.Spec.HealthCheckNodePort, len(ready)
}
