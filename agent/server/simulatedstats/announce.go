package simulatedstats

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/url"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"

	"github.com/berthproject/berth/agent/pressure"
	"github.com/berthproject/berth/agent/server"
	"github.com/berthproject/berth/api/v1alpha1"
	"github.com/berthproject/berth/engine/nodepressure/usage"
)

// SimulatedNodesUser is the user whose certificate may serve several nodes.
const SimulatedNodesUser = "system:berth:simulated-nodes"

// Options configures a Server.
type Options struct {
	// Certificate is the agent's credential, which is also the serving certificate.
	Certificate tls.Certificate
	// Renewed returns the certificate that replaces Certificate, or nil if there is none. Optional.
	Renewed func() *tls.Certificate
	// ClientCA is the CA of the API server's client certificate, in PEM.
	ClientCA []byte
	// APIServer is the API server's URL. The server listens on the address from which this machine
	// reaches it. It is empty if the API server runs in this process.
	APIServer string
	Client    kubernetes.Interface
	Log       klog.Logger
	// Usage returns a node's capacity and its usage without pods, minus the images and containers that
	// it reclaimed. It returns false if they are unknown. If Usage is nil, the annotations define them.
	Usage func(node string) (usage.Node, bool)
	// Pressure returns the report of a node's eviction manager. Optional.
	Pressure func(node string) (*pressure.Report, error)
}

// Server serves the stats of simulated nodes. Announce creates it before the nodes are registered.
type Server struct {
	opts     Options
	listener net.Listener
	nodes    []*corev1.Node
}

// Announce listens on a local address and writes its URL to the annotations of the nodes. The
// caller must register the nodes afterwards. It returns nil if the certificate is not valid for
// serving these nodes.
func Announce(o Options, nodes []*corev1.Node) (*Server, error) {
	if !certificateMatches(o.Certificate, nodes) {
		return nil, nil
	}
	listener, err := server.Listen(net.JoinHostPort(localAddress(o.APIServer), "0"))
	if err != nil {
		return nil, err
	}
	base := url.URL{Scheme: "https", Host: listener.Addr().String()}
	for _, n := range nodes {
		nodeURL := base
		if o.Certificate.Leaf.Subject.CommonName == SimulatedNodesUser {
			nodeURL.Path = "/nodes/" + n.Name
		}
		if n.Annotations == nil {
			n.Annotations = map[string]string{}
		}
		n.Annotations[v1alpha1.AgentURLAnnotation] = nodeURL.String()
	}
	return &Server{opts: o, listener: listener, nodes: nodes}, nil
}

// certificateMatches reports whether the API server accepts the certificate for the nodes'
// agent.
func certificateMatches(cert tls.Certificate, nodes []*corev1.Node) bool {
	if cert.Leaf == nil || !server.IsServerCertificate(cert.Leaf) {
		return false
	}
	name := cert.Leaf.Subject.CommonName
	return name == SimulatedNodesUser || len(nodes) == 1 && name == "system:node:"+nodes[0].Name
}

// localAddress returns the IP address from which this machine reaches the API server.
func localAddress(apiServer string) string {
	const loopback = "127.0.0.1"
	u, err := url.Parse(apiServer)
	if err != nil || u.Host == "" {
		return loopback
	}
	port := u.Port()
	if port == "" {
		port = "443"
	}
	conn, err := net.Dial("udp", net.JoinHostPort(u.Hostname(), port)) // UDP: sends nothing
	if err != nil {
		return loopback
	}
	defer conn.Close()
	return conn.LocalAddr().(*net.UDPAddr).IP.String()
}

// Run serves until ctx is done.
func (s *Server) Run(ctx context.Context, agent Agent) error {
	o := server.Options{Listener: s.listener, Certificate: s.opts.Certificate, Renewed: s.opts.Renewed, ClientCA: s.opts.ClientCA, Client: s.opts.Client, Log: s.opts.Log}
	for _, n := range s.nodes {
		o.Nodes = append(o.Nodes, newNode(n, agent, &s.opts))
	}
	nodeServer, err := server.New(o)
	if err != nil {
		return fmt.Errorf("simulated nodes: serving: %w", err)
	}
	return nodeServer.Run(ctx)
}
