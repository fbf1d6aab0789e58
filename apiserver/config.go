package apiserver

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"

	extensions "k8s.io/apiextensions-apiserver/pkg/apiserver"
	"k8s.io/apimachinery/pkg/util/sets"
	openapinamer "k8s.io/apiserver/pkg/endpoints/openapi"
	"k8s.io/apiserver/pkg/endpoints/request"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	genericfilters "k8s.io/apiserver/pkg/server/filters"
	"k8s.io/apiserver/pkg/server/healthz"
	aggregatorscheme "k8s.io/kube-aggregator/pkg/apiserver/scheme"

	"github.com/berthproject/berth/apiserver/auth/pki"
	"github.com/berthproject/berth/apiserver/openapi"
	"github.com/berthproject/berth/apiserver/scheme"
	"github.com/berthproject/berth/apiserver/store"
)

// shutdownTimeout bounds how long open watches delay the shutdown.
const shutdownTimeout = 2 * time.Second

// newConfig returns the generic API server configuration, without the parts that need a client of
// the server.
func newConfig(o Options, set *scheme.Set, backend *store.Backend) *genericapiserver.Config {
	c := genericapiserver.NewConfig(set.Codecs)
	c.EffectiveVersion = effectiveVersion()
	c.MaxRequestsInFlight = o.MaxRequestsInFlight
	c.MaxMutatingRequestsInFlight = o.MaxMutatingRequestsInFlight
	c.EnableIndex = false // notFoundHandler serves the index
	c.LongRunningFunc = isLongRunning
	namer := openapinamer.NewDefinitionNamer(set.External, extensions.Scheme, aggregatorscheme.Scheme)
	c.OpenAPIConfig = genericapiserver.DefaultOpenAPIConfig(openapi.Definitions, namer)
	c.OpenAPIConfig.Info.Title = "Kubernetes"
	c.OpenAPIV3Config = genericapiserver.DefaultOpenAPIV3Config(openapi.Definitions, namer)
	c.OpenAPIV3Config.Info.Title = "Kubernetes"
	etcd := healthz.NamedCheck("etcd", func(r *http.Request) error { return backend.Check(r.Context()) })
	c.HealthzChecks = append(c.HealthzChecks, etcd)
	c.AddReadyzChecks(etcd)
	c.LivezChecks = append(c.LivezChecks, healthz.NamedCheck("etcd", func(r *http.Request) error { return backend.CheckLive(r.Context()) }))
	c.AddReadyzChecks(healthz.NamedCheck("etcd-space", func(*http.Request) error { return backend.CheckWritable() }))
	return c
}

var isLongRunningResource = genericfilters.BasicLongRunningRequestCheck(
	sets.NewString("watch", "proxy"),
	sets.NewString("attach", "exec", "proxy", "log", "portforward"),
)

// isLongRunning reports whether a request is exempt from the limits on requests in flight. Watches, streams,
// snapshots and health checks are exempt. Health checks must not be rejected with 429.
func isLongRunning(r *http.Request, info *request.RequestInfo) bool {
	if r.URL.Path == SnapshotPath {
		return true
	}
	switch path, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/"); path {
	case "healthz", "livez", "readyz":
		return true
	}
	return isLongRunningResource(r, info)
}

// listen listens on the address. The error names the flag, and reports whether the port is in use.
func listen(address string) (net.Listener, error) {
	listener, err := net.Listen("tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("--listen %s: the port is in use by another process: stop it or choose another port", address)
	}
	if err != nil {
		return nil, fmt.Errorf("--listen %s: %w", address, err)
	}
	return listener, nil
}

// configureServingTLS sets the listener and a serving certificate signed by the authority.
func configureServingTLS(c *genericapiserver.Config, authority *pki.Authority, names pki.AltNames, listener net.Listener) error {
	certFile, keyFile, err := authority.ServingPair(names)
	if err != nil {
		return err
	}
	cert, err := dynamiccertificates.NewDynamicServingContentFromFiles("serving-cert", certFile, keyFile)
	if err != nil {
		return fmt.Errorf("loading the serving certificate: %w", err)
	}
	c.SecureServing = &genericapiserver.SecureServingInfo{
		Listener:                     listener,
		Cert:                         cert,
		HTTP2MaxStreamsPerConnection: 1000,
	}
	c.ExternalAddress = listener.Addr().String()
	return nil
}
