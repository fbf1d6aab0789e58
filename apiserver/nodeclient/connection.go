package nodeclient

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/lru"

	"github.com/berthproject/berth/api/v1alpha1"
	"github.com/berthproject/berth/apiserver/auth/pki"
)

const (
	dialTimeout = 5 * time.Second
	idleTimeout = 90 * time.Second
	// maxIdleConns is the maximum number of idle connections per agent. An agent of simulated nodes serves
	// thousands of nodes.
	maxIdleConns = 20
	// maxTransports is the size of the transport cache.
	maxTransports = 10000
)

// ConnectionGetter returns connections to node agents. It is safe for concurrent use. Use New to
// create one.
type ConnectionGetter struct {
	authority *pki.Authority
	getNode   func(ctx context.Context, name string) (*corev1.Node, error)
	identity  clientIdentity

	mu         sync.Mutex
	transports *lru.Cache // key: common name and host of the agent; value: *http.Transport
}

// New returns a getter that reads nodes with getNode and verifies agents with the certificates of
// authority.
func New(authority *pki.Authority, getNode func(ctx context.Context, name string) (*corev1.Node, error)) *ConnectionGetter {
	return &ConnectionGetter{authority: authority, getNode: getNode, identity: clientIdentity{authority: authority},
		transports: lru.NewWithEvictionFunc(maxTransports, func(_ lru.Key, t any) { t.(*http.Transport).CloseIdleConnections() })}
}

// Connection is the location of a node agent.
type Connection struct {
	// URL is the base of paths such as /stats/summary.
	URL *url.URL
	// Transport is shared between connections.
	Transport *http.Transport
	// Simulated reports whether the node's pods have no processes.
	Simulated bool
}

// URLFor returns the URL of a path of the agent.
func (c Connection) URLFor(path string, query url.Values) *url.URL {
	u := *c.URL
	u.Path = strings.TrimSuffix(u.Path, "/") + path
	u.RawPath = ""
	u.RawQuery = query.Encode()
	return &u
}

// Get returns the connection to the agent of the named node.
func (g *ConnectionGetter) Get(ctx context.Context, name string) (Connection, error) {
	node, err := g.getNode(ctx, name)
	if err != nil {
		return Connection{}, err
	}
	return g.ForNode(node)
}

// ForNode returns the connection to the agent of a node. It returns a bad request if the node has
// no agent.
func (g *ConnectionGetter) ForNode(node *corev1.Node) (Connection, error) {
	base, commonName, err := locate(node)
	if err != nil {
		return Connection{}, apierrors.NewBadRequest(err.Error())
	}
	return Connection{URL: base, Transport: g.transport(commonName, base.Host), Simulated: strings.HasPrefix(node.Status.NodeInfo.ContainerRuntimeVersion, "simulated://")}, nil
}

func (g *ConnectionGetter) transport(commonName, host string) *http.Transport {
	key := commonName + " " + host
	g.mu.Lock()
	defer g.mu.Unlock()
	if t, ok := g.transports.Get(key); ok {
		return t.(*http.Transport)
	}
	t := &http.Transport{
		DialContext:         (&net.Dialer{Timeout: dialTimeout}).DialContext,
		TLSHandshakeTimeout: dialTimeout,
		TLSClientConfig:     g.identity.tlsConfig(commonName),
		MaxIdleConnsPerHost: maxIdleConns,
		IdleConnTimeout:     idleTimeout,
	}
	g.transports.Add(key, t)
	return t
}

// locate returns the base URL of the node's agent and the common name of its certificate.
func locate(node *corev1.Node) (base *url.URL, commonName string, err error) {
	commonName = pki.Node(node.Name).Name
	if text := node.Annotations[v1alpha1.AgentURLAnnotation]; text != "" {
		base, err = url.Parse(text)
		switch {
		case err == nil && base.Scheme == "https" && base.Host != "" && base.Path == "":
			return base, commonName, nil
		case err == nil && base.Scheme == "https" && base.Host != "" && base.Path == "/nodes/"+node.Name:
			return base, pki.SimulatedNodes().Name, nil
		}
		return nil, "", fmt.Errorf("node %q: annotation %s is %q: must be https://HOST:PORT or https://HOST:PORT/nodes/%s", node.Name, v1alpha1.AgentURLAnnotation, text, node.Name)
	}
	port := node.Status.DaemonEndpoints.KubeletEndpoint.Port
	if port == 0 {
		return nil, "", fmt.Errorf("node %q has no node agent endpoint: status.daemonEndpoints.kubeletEndpoint.port is 0", node.Name)
	}
	for _, kind := range []corev1.NodeAddressType{corev1.NodeInternalIP, corev1.NodeExternalIP, corev1.NodeHostName} {
		for _, address := range node.Status.Addresses {
			if address.Type == kind && address.Address != "" {
				return &url.URL{Scheme: "https", Host: net.JoinHostPort(address.Address, strconv.Itoa(int(port)))}, commonName, nil
			}
		}
	}
	return nil, "", fmt.Errorf("node %q has no address in status.addresses: must have one of type InternalIP, ExternalIP or Hostname", node.Name)
}
