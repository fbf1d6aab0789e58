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
	// maxIdleConns is how many connections to one agent are kept: one that
	// answers for thousands of nodes is asked many things at once.
	maxIdleConns = 20
	// maxTransports are kept for so many agents.
	maxTransports = 10000
)

// ConnectionGetter finds the agents of nodes. Make it with New. Safe for concurrent use.
type ConnectionGetter struct {
	authority *pki.Authority
	getNode   func(ctx context.Context, name string) (*corev1.Node, error)
	identity  clientIdentity

	mu         sync.Mutex
	transports *lru.Cache // name that the agent must show and where it is -> *http.Transport
}

// New finds nodes by their names through node, and agents with certificates of the authority.
func New(authority *pki.Authority, node func(ctx context.Context, name string) (*corev1.Node, error)) *ConnectionGetter {
	return &ConnectionGetter{authority: authority, getNode: node, identity: clientIdentity{authority: authority},
		transports: lru.NewWithEvictionFunc(maxTransports, func(_ lru.Key, t any) { t.(*http.Transport).CloseIdleConnections() })}
}

// Connection is where an agent answers about one node.
type Connection struct {
	// URL is what paths such as /stats/summary are below.
	URL *url.URL
	// Transport reaches it. It is shared.
	Transport *http.Transport
}

// URLFor is the URL of a path below the agent's.
func (a Connection) URLFor(path string, query url.Values) *url.URL {
	u := *a.URL
	u.Path = strings.TrimSuffix(u.Path, "/") + path
	u.RawPath = ""
	u.RawQuery = query.Encode()
	return &u
}

// Get finds the agent of a node by name.
func (a *ConnectionGetter) Get(ctx context.Context, name string) (Connection, error) {
	node, err := a.getNode(ctx, name)
	if err != nil {
		return Connection{}, err
	}
	return a.ForNode(node)
}

// ForNode finds the agent of a node. A node without one is a bad request.
func (a *ConnectionGetter) ForNode(node *corev1.Node) (Connection, error) {
	base, commonName, err := locate(node)
	if err != nil {
		return Connection{}, apierrors.NewBadRequest(err.Error())
	}
	return Connection{URL: base, Transport: a.transport(commonName, base.Host)}, nil
}

func (a *ConnectionGetter) transport(commonName, host string) *http.Transport {
	key := commonName + " " + host
	a.mu.Lock()
	defer a.mu.Unlock()
	if t, ok := a.transports.Get(key); ok {
		return t.(*http.Transport)
	}
	t := &http.Transport{
		DialContext:         (&net.Dialer{Timeout: dialTimeout}).DialContext,
		TLSHandshakeTimeout: dialTimeout,
		TLSClientConfig:     a.identity.tlsConfig(commonName),
		MaxIdleConnsPerHost: maxIdleConns,
		IdleConnTimeout:     idleTimeout,
	}
	a.transports.Add(key, t)
	return t
}

// locate is where the agent of a node answers, and whose certificate it must show.
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
		return nil, "", fmt.Errorf("node %q: annotation %s is %q: want https://HOST:PORT or https://HOST:PORT/nodes/%s", node.Name, v1alpha1.AgentURLAnnotation, text, node.Name)
	}
	port := node.Status.DaemonEndpoints.KubeletEndpoint.Port
	if port == 0 {
		return nil, "", fmt.Errorf("node %q has no agent that answers: its status.daemonEndpoints.kubeletEndpoint.port is 0", node.Name)
	}
	for _, kind := range []corev1.NodeAddressType{corev1.NodeInternalIP, corev1.NodeExternalIP, corev1.NodeHostName} {
		for _, address := range node.Status.Addresses {
			if address.Type == kind && address.Address != "" {
				return &url.URL{Scheme: "https", Host: net.JoinHostPort(address.Address, strconv.Itoa(int(port)))}, commonName, nil
			}
		}
	}
	return nil, "", fmt.Errorf("node %q has no address in status.addresses: want one of type InternalIP, ExternalIP or Hostname", node.Name)
}
