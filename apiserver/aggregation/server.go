package aggregation

import (
	"fmt"

	genericapiserver "k8s.io/apiserver/pkg/server"
	aggregator "k8s.io/kube-aggregator/pkg/apiserver"
	aggregatorscheme "k8s.io/kube-aggregator/pkg/apiserver/scheme"

	"github.com/berthproject/berth/apiserver/auth/pki"
	"github.com/berthproject/berth/apiserver/store"
)

// Options configures New.
type Options struct {
	// Server is the configuration that all servers of the chain share. New changes it.
	Server *genericapiserver.RecommendedConfig
	// Store has the backend. New sets its scheme and codecs.
	Store store.Options
	// Services resolves the Services of APIServices.
	Services aggregator.ServiceResolver
	// ClientCertificate identifies this server to other API servers.
	ClientCertificate pki.FrontProxy
	// Next gets all requests that are not forwarded.
	Next genericapiserver.DelegationTarget
}

// New returns the aggregating server.
func New(o Options) (*aggregator.APIAggregator, error) {
	o.Store.Scheme, o.Store.Codecs, o.Store.GroupPrefix = aggregatorscheme.Scheme, aggregatorscheme.Codecs, true
	o.Server.RESTOptionsGetter = o.Store
	o.Server.MergedResourceConfig = aggregator.DefaultAPIResourceConfigSource()
	o.Server.SkipOpenAPIInstallation = true // the aggregator serves the merged documents
	config := aggregator.Config{GenericConfig: o.Server, ExtraConfig: aggregator.ExtraConfig{
		ServiceResolver:     o.Services,
		ProxyClientCertFile: o.ClientCertificate.CertFile,
		ProxyClientKeyFile:  o.ClientCertificate.KeyFile,
		// A redirect could lead the proxy, with its identity, to any address.
		RejectForwardingRedirects: true,
	}}
	server, err := config.Complete().NewWithDelegate(o.Next)
	if err != nil {
		return nil, fmt.Errorf("aggregating server: %w", err)
	}
	return server, nil
}
