package apiserver

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"time"

	"github.com/google/uuid"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/berthproject/berth/apiserver/auth"
	"github.com/berthproject/berth/apiserver/auth/pki"
	"github.com/berthproject/berth/apiserver/kinds"
	"github.com/berthproject/berth/apiserver/registry"
	"github.com/berthproject/berth/apiserver/scheme"
	"github.com/berthproject/berth/apiserver/store"
	"github.com/berthproject/berth/apiserver/subresource"
)

// Server is an API server that is assembled and listens; Run makes it answer.
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
	generic          *genericapiserver.GenericAPIServer
	ready            chan struct{}
	serviceIP        net.IP
}

// New takes the address and the data directory, starts the store and puts
// the server together. A Server that is not run must be closed.
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

// Close gives back what New took. Run does it by itself.
func (s *Server) Close() {
	if s.generic != nil {
		s.generic.Destroy()
	}
	_ = s.listener.Close()
	if s.backend != nil {
		s.backend.Close()
	}
}

// open starts the store and reads the keys.
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
	s.authority, err = pki.Open(filepath.Join(o.DataDir, "pki"), time.Now)
	return err
}

// assemble builds the generic server from the table of kinds.
func (s *Server) assemble(ctx context.Context) error {
	table := kinds.All()
	set, err := scheme.New(table)
	if err != nil {
		return err
	}
	c := newConfig(s.options, set, s.backend)
	c.RESTOptionsGetter = store.Options{Backend: s.backend, Scheme: set.Scheme, Codecs: set.Codecs, Uncached: uncachedResources(table), Counter: c.StorageObjectCountTracker}
	if err := configureServingTLS(c, s.authority, pki.APIServerAltNames(s.serviceIP, s.listenHost()), s.listener); err != nil {
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
	if err := configureAdmission(c, s.options, s.client, shared); err != nil {
		return err
	}
	if s.generic, err = c.Complete(shared).New("berth", genericapiserver.NewEmptyDelegate()); err != nil {
		return err
	}
	s.generic.ShutdownTimeout = shutdownTimeout
	installNotFoundHandler(s.generic)
	if err := s.serveIssuerDiscovery(); err != nil {
		return err
	}
	s.loopback.setHandler(s.generic.Handler)
	made, err := newStorages(table, registry.Config{Options: c.RESTOptionsGetter, Typer: set.Scheme, WarnStoredOnly: s.options.StoredOnlyWarnings,
		StrictResourceVersions: s.options.StrictResourceVersions}, s.virtualStorage)
	if err != nil {
		return err
	}
	services := made.store(corev1.Resource("services"))
	if s.serviceAllocator, err = subresource.NewServiceAllocator(services, s.options.ServiceClusterIPRange, s.backend); err != nil {
		return err
	}
	if err := made.install(s.generic, set); err != nil {
		return err
	}
	return s.addPostStartHooks()
}

func uncachedResources(table []kinds.Kind) sets.Set[schema.GroupResource] {
	found := sets.New[schema.GroupResource]()
	for _, k := range table {
		if k.NoWatchCache {
			found.Insert(k.GroupResource())
		}
	}
	return found
}

// kubernetesServiceIP is that of the service "kubernetes": the first after the network's own.
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

// Address is HOST:PORT that the server listens on.
func (s *Server) Address() string { return s.listener.Addr().String() }

// Ready is closed when the server answers and has made what every cluster has.
func (s *Server) Ready() <-chan struct{} { return s.ready }

// LoopbackConfig is for clients in this process, as a member of
// system:masters: they reach the handlers without a socket, speak protobuf and may watch.
// Impersonate, if set on a copy, makes them somebody else.
func (s *Server) LoopbackConfig() *rest.Config { return rest.CopyConfig(s.loopbackConfig) }

// Authority signs the certificates of this cluster.
func (s *Server) Authority() *pki.Authority { return s.authority }
