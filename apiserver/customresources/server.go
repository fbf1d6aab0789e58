package customresources

import (
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	extensions "k8s.io/apiextensions-apiserver/pkg/apiserver"
	"k8s.io/apimachinery/pkg/util/sets"
	genericapiserver "k8s.io/apiserver/pkg/server"
	serverstorage "k8s.io/apiserver/pkg/server/storage"
	"k8s.io/apiserver/pkg/util/webhook"

	"github.com/berthproject/berth/apiserver/store"
)

// Options configures New.
type Options struct {
	// Server is the configuration that all servers of the chain share. New changes it.
	Server *genericapiserver.RecommendedConfig
	// Store configures the storage. New sets its scheme and codecs.
	Store store.Options
	// Services and Authentication connect to conversion webhooks.
	Services       webhook.ServiceResolver
	Authentication webhook.AuthenticationInfoResolverWrapper
	// Next serves the paths that are not those of a custom resource.
	Next genericapiserver.DelegationTarget
}

// New returns the server of CustomResourceDefinitions and custom resources.
func New(o Options) (*extensions.CustomResourceDefinitions, error) {
	definitions := o.Store
	definitions.Scheme, definitions.Codecs, definitions.GroupPrefix = extensions.Scheme, extensions.Codecs, true
	// Each definition is written about six times until it is established. The history of a watch
	// cache would keep all these versions: several megabytes per definition.
	definitions.Uncached = sets.New(apiextensionsv1.Resource("customresourcedefinitions"))
	o.Server.RESTOptionsGetter = definitions
	o.Server.MergedResourceConfig = serverstorage.NewResourceConfig()
	o.Server.MergedResourceConfig.EnableVersions(apiextensionsv1.SchemeGroupVersion)
	config := extensions.Config{GenericConfig: o.Server, ExtraConfig: extensions.ExtraConfig{
		CRDRESTOptionsGetter: store.UnstructuredOptions{Options: o.Store},
		MasterCount:          1,
		ServiceResolver:      o.Services,
		AuthResolverWrapper:  o.Authentication,
	}}
	server, err := config.Complete().New(o.Next)
	if err != nil {
		return nil, fmt.Errorf("creating the server of custom resources: %w", err)
	}
	return server, nil
}
