package apiserver

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"time"

	"github.com/google/uuid"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/registry/generic"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/berthproject/berth/apiserver/audit"
	"github.com/berthproject/berth/apiserver/auth"
	"github.com/berthproject/berth/apiserver/auth/pki"
	"github.com/berthproject/berth/apiserver/componentstatus"
	"github.com/berthproject/berth/apiserver/fairness"
	"github.com/berthproject/berth/apiserver/kinds"
	"github.com/berthproject/berth/apiserver/registry"
	"github.com/berthproject/berth/apiserver/scheme"
	"github.com/berthproject/berth/apiserver/store"
	"github.com/berthproject/berth/apiserver/subresource"
)

// Server is an assembled, listening API server. Run serves requests.
type Server struct {
	options          Options
	listener         net.Listener
	backend          *store.Backend
	authority        *pki.Authority
	security         *auth.Security
	serviceAllocator *subresource.ServiceAllocator
	loopback         *loopbackTransport
	loopbackConfig   *rest.Config
	client           kubernetes.Interface
	generic          *genericapiserver.GenericAPIServer // the built-in kinds
	chain            *chain
	dynamicAdmission *dynamicAdmission
	ready            chan struct{}
	serviceIP        net.IP
	advertised       net.IP // nil if there is no address
	endpoints        *kubernetesEndpoints
	components       componentstatus.Checks
}

// New listens on the address, locks the data directory, starts the store and assembles the server.
// The caller must call Run or Close.
func New(ctx context.Context, o Options) (*Server, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	listener, err := listen(o.Listen)
	if err != nil {
		return nil, err
	}
	s := &Server{options: o, listener: listener, loopback: &loopbackTransport{}, ready: make(chan struct{})}
	if err := s.open(ctx); err != nil {
		s.Close()
		return nil, err
	}
	if err := s.assemble(ctx); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// Close releases what New acquired. It is for callers that do not call Run.
func (s *Server) Close() {
	if s.chain != nil {
		s.chain.destroy()
	}
	_ = s.listener.Close()
	if s.backend != nil {
		s.backend.Close()
	}
}

// open starts the store and loads the certificate authority.
func (s *Server) open(ctx context.Context) (err error) {
	o := s.options
	if len(o.EtcdServers) > 0 {
		s.backend, err = store.OpenExternal(ctx, store.ExternalConfig{Servers: o.EtcdServers, CAFile: o.EtcdCAFile, CertFile: o.EtcdCertFile, KeyFile: o.EtcdKeyFile})
	} else {
		s.backend, err = store.OpenEmbedded(ctx, o.DataDir)
	}
	if err != nil {
		return err
	}
	if s.serviceIP, err = kubernetesServiceIP(o.ServiceClusterIPRange); err != nil {
		return err
	}
	s.advertised = o.advertiseAddress(s.listenHost())
	s.listener = listenForPods(s.listener, s.advertised, o.PodNetwork)
	s.setDefaultComponentChecks()
	s.authority, err = pki.Open(filepath.Join(o.DataDir, "pki"), time.Now)
	return err
}

// assemble builds the generic API server from the table of kinds.
func (s *Server) assemble(ctx context.Context) error {
	table := kinds.All()
	set, err := scheme.New(table)
	if err != nil {
		return err
	}
	c := newConfig(s.options, set, s.backend)
	if err := configureEncryption(c, s.options); err != nil {
		return err
	}
	if err := audit.Configure(c, s.options.Audit); err != nil {
		return err
	}
	storeOptions := store.Options{Backend: s.backend, Transformers: c.ResourceTransformers, Scheme: set.Scheme, Codecs: set.Codecs, Uncached: uncachedResources(table), Counter: c.StorageObjectCountTracker}
	c.RESTOptionsGetter = storeOptions
	if err := configureServingTLS(c, s.authority, s.certificateNames(), s.listener); err != nil {
		return err
	}
	s.loopbackConfig = s.loopback.clientConfig(uuid.NewString())
	c.LoopbackClientConfig = s.loopbackConfig
	if s.client, err = kubernetes.NewForConfig(s.loopbackConfig); err != nil {
		return err
	}
	shared := informers.NewSharedInformerFactory(s.client, 10*time.Minute)
	if err := s.configureAuth(c, shared); err != nil {
		return err
	}
	if s.dynamicAdmission, err = newDynamicAdmission(c, s.loopbackConfig, s.client, shared); err != nil {
		return err
	}
	if err := configureAdmission(c, s.options, s.dynamicAdmission); err != nil {
		return err
	}
	fairness.Configure(c, s.client, shared, newQuantityChecker(table, set).Check)
	if s.chain, err = newChain(c, shared, storeOptions); err != nil {
		return err
	}
	if err := s.chain.serveBuiltIn(); err != nil {
		return err
	}
	s.generic = s.chain.builtIn
	if err := s.serveIssuerDiscovery(); err != nil {
		return err
	}
	s.serveSnapshot()
	storages, err := s.installKinds(table, set, c.RESTOptionsGetter)
	if err != nil {
		return err
	}
	if err := s.addPostStartHooks(); err != nil {
		return err
	}
	if err := s.chain.aggregate(s.authority, storages.versions); err != nil {
		return err
	}
	s.chain.aggregator.GenericAPIServer.ShutdownTimeout = shutdownTimeout
	s.loopback.setHandler(s.chain.handler())
	s.dynamicAdmission.schemas.setChain(s.chain)
	return nil
}

// installKinds serves the kinds of the table.
func (s *Server) installKinds(table []kinds.Kind, set *scheme.Set, options generic.RESTOptionsGetter) (*storageSet, error) {
	storages, err := newStorages(table, registry.Config{Options: options, Typer: set.Scheme, WarnStoredOnly: s.options.StoredOnlyWarnings,
		StrictResourceVersions: s.options.StrictResourceVersions}, s.virtualStorage)
	if err != nil {
		return nil, err
	}
	services, addresses, ranges := storages.store(corev1.Resource("services")), storages.store(networkingv1.Resource("ipaddresses")), storages.store(networkingv1.Resource("servicecidrs"))
	if s.serviceAllocator, err = subresource.NewServiceAllocator(services, addresses, ranges, s.options.ServiceClusterIPRange, s.backend); err != nil {
		return nil, err
	}
	storages.stores[corev1.Resource("services")].WrapCreate = s.serviceAllocator.Create
	storages.stores[corev1.Resource("services")].WrapUpdate = s.serviceAllocator.Update
	return storages, storages.install(s.generic, set)
}

// uncachedResources returns the resources without a watch cache.
func uncachedResources(table []kinds.Kind) sets.Set[schema.GroupResource] {
	resources := sets.New[schema.GroupResource]()
	for _, k := range table {
		if k.NoWatchCache {
			resources.Insert(k.GroupResource())
		}
	}
	return resources
}

// kubernetesServiceIP returns the cluster IP of the kubernetes Service: the first address of the
// range after the network address.
func kubernetesServiceIP(cidr string) (net.IP, error) {
	_, network, err := net.ParseCIDR(cidr)
	if err != nil {
		return nil, fmt.Errorf("--service-cluster-ip-range %q: %w", cidr, err)
	}
	ip := append(net.IP(nil), network.IP...)
	ip[len(ip)-1]++
	return ip, nil
}

func (s *Server) listenHost() string {
	host, _, _ := net.SplitHostPort(s.options.Listen)
	return host
}

// certificateNames returns the names of the serving certificate.
func (s *Server) certificateNames() pki.AltNames {
	return pki.APIServerAltNames(s.serviceIP, s.certificateHosts()...)
}

// certificateHosts returns the configured hosts in the serving certificate.
func (s *Server) certificateHosts() []string {
	hosts := []string{s.listenHost()}
	if s.advertised != nil {
		hosts = append(hosts, s.advertised.String())
	}
	return hosts
}

// ReservedNames returns the names and addresses of the serving certificate that certificates of nodes must not have.
// It omits the host name of this machine, which is the default name of a node here, unless the server listens on it.
// A node gets a certificate for a DNS name only if that is the name of the node.
func (s *Server) ReservedNames() []string {
	names := pki.ReservedAltNames(s.serviceIP, s.certificateHosts()...)
	out := names.DNS
	for _, ip := range names.IPs {
		out = append(out, ip.String())
	}
	return out
}

// Address returns the HOST:PORT that the server listens on.
func (s *Server) Address() string { return s.listener.Addr().String() }

// Ready returns a channel that is closed once the server is ready and the system objects exist.
func (s *Server) Ready() <-chan struct{} { return s.ready }

// LoopbackConfig returns a client configuration for clients in this process. They are members of
// system:masters, call the handlers without a socket and use protobuf. Set Impersonate on the copy
// to act as another user.
func (s *Server) LoopbackConfig() *rest.Config { return rest.CopyConfig(s.loopbackConfig) }

// Authority returns the certificate authority of this cluster.
func (s *Server) Authority() *pki.Authority { return s.authority }
