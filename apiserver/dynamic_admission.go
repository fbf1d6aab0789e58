package apiserver

import (
	"context"
	"slices"
	"time"

	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/initializer"
	mutatingpolicy "k8s.io/apiserver/pkg/admission/plugin/policy/mutating"
	validatingpolicy "k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	webhookinit "k8s.io/apiserver/pkg/admission/plugin/webhook/initializer"
	mutatingwebhook "k8s.io/apiserver/pkg/admission/plugin/webhook/mutating"
	validatingwebhook "k8s.io/apiserver/pkg/admission/plugin/webhook/validating"
	genericapiserver "k8s.io/apiserver/pkg/server"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"

	plugins "github.com/berthproject/berth/apiserver/admission"
)

// mapperInterval is how often the REST mapper of policies is refreshed.
const mapperInterval = 30 * time.Second

// dynamicPlugins are the admission plugins that objects of the cluster configure, in the order in
// which they run.
var dynamicPlugins = []string{mutatingpolicy.PluginName, mutatingwebhook.PluginName, validatingpolicy.PluginName, validatingwebhook.PluginName}

// withDynamicPlugins inserts dynamicPlugins before ResourceQuota, which charges what the other
// plugins have admitted.
func withDynamicPlugins(order []string) []string {
	return slices.Insert(order, slices.Index(order, plugins.ResourceQuota), dynamicPlugins...)
}

// dynamicAdmission registers and initializes the plugins of webhooks and policies.
type dynamicAdmission struct {
	mapper  *restmapper.DeferredDiscoveryRESTMapper
	schemas *policySchemas
	inits   admission.PluginInitializers
	status  *policyStatus
}

func newDynamicAdmission(c *genericapiserver.Config, config *rest.Config, client kubernetes.Interface, shared informers.SharedInformerFactory) (*dynamicAdmission, error) {
	jsonConfig := rest.CopyConfig(config) // parameters may be custom resources
	jsonConfig.ContentConfig = rest.ContentConfig{}
	objects, err := dynamic.NewForConfig(jsonConfig)
	if err != nil {
		return nil, err
	}
	services, err := newServiceResolver(shared)
	if err != nil {
		return nil, err
	}
	d := &dynamicAdmission{
		mapper:  restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(client.Discovery())),
		schemas: &policySchemas{client: client.Discovery().RESTClient(), assembled: make(chan struct{}), stop: c.DrainedNotify()},
	}
	d.inits = admission.PluginInitializers{
		initializer.New(policyClient{client, d.schemas}, objects, shared, c.Authorization.Authorizer, utilfeature.DefaultFeatureGate, c.EffectiveVersion, c.DrainedNotify(), d.mapper),
		webhookinit.NewPluginInitializer(webhookAuthentication(c), services),
		excludeReviews{},
	}
	d.status, err = newPolicyStatus(client, shared.Admissionregistration().V1().ValidatingAdmissionPolicies(), policyClient{client, d.schemas}.Discovery(), d.mapper)
	return d, err
}

// register registers dynamicPlugins.
func (d *dynamicAdmission) register(registered *admission.Plugins) {
	mutatingpolicy.Register(registered)
	mutatingwebhook.Register(registered)
	validatingpolicy.Register(registered)
	validatingwebhook.Register(registered)
}

// run refreshes the REST mapper and checks the types of policies until ctx is done.
func (d *dynamicAdmission) run(ctx context.Context) {
	go d.status.run(ctx)
	tick := time.NewTicker(mapperInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			d.mapper.Reset()
		}
	}
}

// excludeReviews excludes reviewResources from policies and webhooks.
type excludeReviews struct{}

// Initialize implements admission.PluginInitializer.
func (excludeReviews) Initialize(plugin admission.Interface) {
	if p, ok := plugin.(initializer.WantsExcludedAdmissionResources); ok {
		p.SetExcludedAdmissionResources(reviewResources)
	}
}
