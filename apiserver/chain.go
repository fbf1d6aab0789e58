package apiserver

import (
	"errors"
	"fmt"
	"net/http"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	extensions "k8s.io/apiextensions-apiserver/pkg/apiserver"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/discovery/aggregated"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/util/proxy"
	"k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/client-go/informers"
	"k8s.io/kube-aggregator/pkg/apis/apiregistration"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	aggregator "k8s.io/kube-aggregator/pkg/apiserver"

	"github.com/berthproject/berth/apiserver/aggregation"
	"github.com/berthproject/berth/apiserver/auth/pki"
	"github.com/berthproject/berth/apiserver/customresources"
	"github.com/berthproject/berth/apiserver/store"
)

// chain builds the API servers of the process. A request passes them in this order:
//
//	aggregator -> built-in kinds -> custom resources -> not found
type chain struct {
	config   *genericapiserver.Config
	shared   informers.SharedInformerFactory
	store    store.Options
	services webhook.ServiceResolver
	notFound *notFoundHandler

	extensions *extensions.CustomResourceDefinitions
	builtIn    *genericapiserver.GenericAPIServer
	aggregator *aggregator.APIAggregator
	// registered reports whether the built-in groups are registered.
	registered func() bool
}

func newChain(c *genericapiserver.Config, shared informers.SharedInformerFactory, options store.Options) (*chain, error) {
	c.AggregatedDiscoveryGroupManager = aggregated.NewResourceManager("apis")
	services, err := newServiceResolver(shared)
	if err != nil {
		return nil, err
	}
	return &chain{config: c, shared: shared, store: options, services: services, notFound: newNotFoundHandler(c.Serializer)}, nil
}

// newServiceResolver returns a resolver that chooses an endpoint of a Service, so that the server
// needs no network proxy on its machine.
func newServiceResolver(shared informers.SharedInformerFactory) (webhook.ServiceResolver, error) {
	endpointSlices, err := proxy.NewEndpointSliceIndexerGetter(shared.Discovery().V1().EndpointSlices())
	if err != nil {
		return nil, err
	}
	return aggregator.NewEndpointServiceResolver(shared.Core().V1().Services().Lister(), endpointSlices), nil
}

// webhookAuthentication returns how the server authenticates to webhooks: with the credentials of
// this process for its own address, and without credentials otherwise.
func webhookAuthentication(c *genericapiserver.Config) webhook.AuthenticationInfoResolverWrapper {
	return webhook.NewDefaultAuthenticationInfoResolverWrapper(nil, nil, c.LoopbackClientConfig, c.TracerProvider)
}

// copyConfig returns a copy of the configuration for another server of the chain.
func (c *chain) copyConfig() *genericapiserver.RecommendedConfig {
	config := *c.config
	config.PostStartHooks = map[string]genericapiserver.PostStartHookConfigEntry{}
	// Each server appends to its copy of the checks.
	config.HealthzChecks, config.LivezChecks, config.ReadyzChecks = slices.Clip(config.HealthzChecks), slices.Clip(config.LivezChecks), slices.Clip(config.ReadyzChecks)
	return &genericapiserver.RecommendedConfig{Config: config, SharedInformerFactory: c.shared}
}

// serveBuiltIn creates the servers of custom resources and of built-in kinds.
func (c *chain) serveBuiltIn() (err error) {
	c.extensions, err = customresources.New(customresources.Options{
		Server: c.copyConfig(), Store: c.store,
		Services: c.services, Authentication: webhookAuthentication(c.config),
		Next: genericapiserver.NewEmptyDelegateWithCustomHandler(c.notFound),
	})
	if err != nil {
		return err
	}
	config := c.copyConfig()
	config.SkipOpenAPIInstallation = true // see serveOpenAPIv2 and openAPIv3
	if c.builtIn, err = config.Complete().New("berth", c.extensions.GenericAPIServer); err != nil {
		return err
	}
	serveOpenAPIv2(c.builtIn, c.config.OpenAPIConfig)
	newOpenAPIv3(c.builtIn.Handler.GoRestfulContainer, c.config.OpenAPIV3Config).register(c.builtIn.Handler.NonGoRestfulMux)
	return nil
}

// aggregate puts the aggregator in front of the server of built-in kinds. All hooks of the other
// servers must already be registered.
func (c *chain) aggregate(authority *pki.Authority, versions []schema.GroupVersion) error {
	certificate, err := authority.FrontProxy()
	if err != nil {
		return err
	}
	c.aggregator, err = aggregation.New(aggregation.Options{
		Server: c.copyConfig(), Store: c.store, Services: c.services, ClientCertificate: certificate, Next: c.builtIn,
	})
	if err != nil {
		return err
	}
	local := append(slices.Clone(versions), apiextensionsv1.SchemeGroupVersion)
	registrar, err := aggregation.NewRegistrar(c.config.LoopbackClientConfig, c.aggregator.APIRegistrationInformers.Apiregistration().V1().APIServices(),
		c.extensions.Informers.Apiextensions().V1().CustomResourceDefinitions().Informer(),
		slices.DeleteFunc(local, func(v schema.GroupVersion) bool { return v == apiregistrationv1.SchemeGroupVersion }))
	if err != nil {
		return err
	}
	c.registered = registrar.Registered
	c.notFound.setPaths(c.aggregator.GenericAPIServer)
	return c.aggregator.GenericAPIServer.AddPostStartHook("berth-register-groups", func(hook genericapiserver.PostStartHookContext) error {
		if err := registrar.Run(hook); err != nil && !errors.Is(err, hook.Err()) {
			return fmt.Errorf("registering API groups in %s: %w", apiregistration.GroupName, err)
		}
		return nil
	})
}

// handler returns the handler of the whole chain.
func (c *chain) handler() http.Handler { return c.aggregator.GenericAPIServer.Handler }

// destroy releases the stores of the servers. Destroy of a server includes the servers behind it.
func (c *chain) destroy() {
	switch {
	case c.aggregator != nil:
		c.aggregator.GenericAPIServer.Destroy()
	case c.builtIn != nil:
		c.builtIn.Destroy()
	case c.extensions != nil:
		c.extensions.GenericAPIServer.Destroy()
	}
}
