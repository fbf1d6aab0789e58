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
	options   Options
	listener  net.Listener
	backend   *store.Backend
	authority *pki.Authority
	security  *auth.Security
	services  *subresource.Services
	loopback  *loopback
	config    *rest.Config
	client    kubernetes.Interface
	generic   *genericapiserver.GenericAPIServer
	ready     chan struct{}
	serviceIP net.IP
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
	s := &Server{options: o, listener: listener, loopback: &loopback{}, ready: make(chan struct{})}
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
		s.backend, err = store.OpenExternal(ctx, store.External{Servers: o.EtcdServers, CAFile: o.EtcdCAFile, CertFile: o.EtcdCertFile, KeyFile: o.EtcdKeyFile})
	} else {
		s.backend, err = store.OpenEmbedded(ctx, o.DataDir)
	}
	if err != nil {
		return err
	}
	if s.serviceIP, err = firstAddress(o.ServiceClusterIPRange); err != nil {
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
	c.RESTOptionsGetter = store.Options{Backend: s.backend, Scheme: set.Scheme, Codecs: set.Codecs, Uncached: uncached(table), Counter: c.StorageObjectCountTracker}
	if err := serveTLS(c, s.authority, pki.ServerNames(s.serviceIP, s.host()), s.listener); err != nil {
		return err
	}
	s.config = s.loopback.config(uuid.NewString())
	c.LoopbackClientConfig = s.config
	if s.client, err = kubernetes.NewForConfig(s.config); err != nil {
		return err
	}
	shared := informers.NewSharedInformerFactory(s.client, 10*time.Minute)
	if err := s.secure(c, shared); err != nil {
		return err
	}
	if err := admit(c, s.options, s.client, shared); err != nil {
		return err
	}
	if s.generic, err = c.Complete(shared).New("berth", genericapiserver.NewEmptyDelegate()); err != nil {
		return err
	}
	s.generic.ShutdownTimeout = shutdownTimeout
	serveUnknown(s.generic)
	if err := s.publishIssuer(); err != nil {
		return err
	}
	s.loopback.set(s.generic.Handler)
	made, err := newStorages(table, registry.Config{Options: c.RESTOptionsGetter, Typer: set.Scheme, WarnStored: s.options.StoredOnlyWarnings,
		StrictVersions: s.options.StrictVersions}, s.virtual)
	if err != nil {
		return err
	}
	services := made.store(corev1.Resource("services"))
	if s.services, err = subresource.NewServices(services, s.options.ServiceClusterIPRange, s.backend); err != nil {
		return err
	}
	if err := made.install(s.generic, set); err != nil {
		return err
	}
	return s.addHooks()
}

func uncached(table []kinds.Kind) sets.Set[schema.GroupResource] {
	found := sets.New[schema.GroupResource]()
	for _, k := range table {
		if k.NoWatchCache {
			found.Insert(k.GroupResource())
		}
	}
	return found
}

// firstAddress is that of the service "kubernetes": the first after the network's own.
func firstAddress(cidr string) (net.IP, error) {
	_, network, err := net.ParseCIDR(cidr)
	if err != nil {
		return nil, fmt.Errorf("--service-cluster-ip-range %q: %w", cidr, err)
	}
	ip := append(net.IP(nil), network.IP...)
	ip[len(ip)-1]++
	return ip, nil
}

func (s *Server) host() string {
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
func (s *Server) LoopbackConfig() *rest.Config { return rest.CopyConfig(s.config) }

// Authority signs the certificates of this cluster.
func (s *Server) Authority() *pki.Authority { return s.authority }
