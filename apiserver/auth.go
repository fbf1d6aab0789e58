package apiserver

import (
	"fmt"
	"maps"
	"os"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/rest"
	genericapiserver "k8s.io/apiserver/pkg/server"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/informers"
	"k8s.io/component-base/metrics/legacyregistry"
	"k8s.io/klog/v2"

	"github.com/berthproject/berth/apiserver/auth"
	"github.com/berthproject/berth/apiserver/componentstatus"
	"github.com/berthproject/berth/apiserver/subresource"
	"github.com/berthproject/berth/internal/displacer"
	"github.com/berthproject/berth/internal/metrics"
)

// configureAuth sets up authentication, authorization and the rule resolver.
func (s *Server) configureAuth(c *genericapiserver.Config, shared informers.SharedInformerFactory) (err error) {
	s.security, err = auth.New(auth.Options{CA: s.authority, Client: s.client, Informers: shared, TokenFile: s.options.TokenAuthFile})
	if err != nil {
		return fmt.Errorf("authentication and authorization: %w", err)
	}
	c.Authentication.Authenticator = s.security.Authenticator
	c.Authentication.APIAudiences = s.security.Audiences
	c.SecureServing.ClientCA = s.security.ClientCA
	c.Authorization.Authorizer = s.security.Authorizer
	c.RuleResolver = s.security.RuleResolver
	return nil
}

// serveIssuerDiscovery serves the OpenID Connect discovery documents that verify service account
// tokens.
func (s *Server) serveIssuerDiscovery() error {
	documents, err := s.security.DiscoveryHandlers(s.externalAddress())
	if err != nil {
		return err
	}
	for path, handler := range documents {
		s.generic.Handler.NonGoRestfulMux.Handle(path, handler)
	}
	return nil
}

// virtualStorage returns the storage of resources and subresources that no etcd store backs.
func (s *Server) virtualStorage(storages *storageSet) map[schema.GroupVersion]map[string]rest.Storage {
	pods := corev1.Resource("pods")
	byVersion := map[schema.GroupVersion]map[string]rest.Storage{
		corev1.SchemeGroupVersion: {
			"componentstatuses": componentstatus.Storage(&s.components),
			"bindings":          subresource.NewLegacyBindingREST(storages.store(pods)),
			"pods/eviction": subresource.NewEvictionREST(storages.store(pods), storages.store(policyv1.Resource("poddisruptionbudgets")), storages.stores[pods],
				s.newDisplacer().WriteRecord, s.options.Evictions),
		},
	}
	for gv, paths := range s.nodeBackedStorage(storages) {
		if byVersion[gv] == nil {
			byVersion[gv] = map[string]rest.Storage{}
		}
		maps.Copy(byVersion[gv], paths)
	}
	for resource, storage := range s.security.Storages() {
		gv := schema.GroupVersion{Group: resource.Group, Version: "v1"}
		if byVersion[gv] == nil {
			byVersion[gv] = map[string]rest.Storage{}
		}
		byVersion[gv][resource.Resource] = storage
	}
	return byVersion
}

// displacementMetrics counts the evictions of all API servers of this process. It is registered in
// the legacy registry, which /metrics exposes, with the metrics about the process.
var displacementMetrics = sync.OnceValue(func() *metrics.Displacements {
	d := metrics.NewDisplacements()
	legacyregistry.RawMustRegister(d, metrics.KubernetesBuildInfo())
	utilfeature.DefaultMutableFeatureGate.AddMetrics() // kubernetes_feature_enabled
	return d
})

// newDisplacer returns the displacer that records the evictions requested from this server.
func (s *Server) newDisplacer() *displacer.Displacer {
	host, _ := os.Hostname()
	return &displacer.Displacer{Client: s.client, Now: time.Now, Component: "eviction-api", Instance: host, OnDisplaced: displacementMetrics().Count,
		OnRecordLost: func(kind string, err error) { klog.ErrorS(err, "Failed to record an eviction", "kind", kind) }}
}
