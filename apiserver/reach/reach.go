package reach

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
	dialWithin = 5 * time.Second
	idleFor    = 90 * time.Second
	// idleConns is how many connections to one agent are kept: one that
	// answers for thousands of nodes is asked many things at once.
	idleConns = 20
	// transports are kept for so many agents.
	transports = 10000
)

// Agents finds the agents of nodes. Make it with New. Safe for concurrent use.
type Agents struct {
	authority *pki.Authority
	node      func(ctx context.Context, name string) (*corev1.Node, error)
	own       identity

	mu    sync.Mutex
	known *lru.Cache // name that the agent must show and where it is -> *http.Transport
}

// New finds nodes by their names through node, and agents with certificates of the authority.
func New(authority *pki.Authority, node func(ctx context.Context, name string) (*corev1.Node, error)) *Agents {
	return &Agents{authority: authority, node: node, own: identity{authority: authority},
		known: lru.NewWithEvictionFunc(transports, func(_ lru.Key, t any) { t.(*http.Transport).CloseIdleConnections() })}
}

// Agent is where an agent answers about one node.
type Agent struct {
	// URL is what paths such as /stats/summary are below.
	URL *url.URL
	// Transport reaches it. It is shared.
	Transport *http.Transport
}

// At is the URL of a path below the agent's.
func (a Agent) At(path string, query url.Values) *url.URL {
	u := *a.URL
	u.Path = strings.TrimSuffix(u.Path, "/") + path
	u.RawPath = ""
	u.RawQuery = query.Encode()
	return &u
}

// Of finds the agent of a node by name.
func (a *Agents) Of(ctx context.Context, name string) (Agent, error) {
	node, err := a.node(ctx, name)
	if err != nil {
		return Agent{}, err
	}
	return a.OfNode(node)
}

// OfNode finds the agent of a node. A node without one is a bad request.
func (a *Agents) OfNode(node *corev1.Node) (Agent, error) {
	base, who, err := locate(node)
	if err != nil {
		return Agent{}, apierrors.NewBadRequest(err.Error())
	}
	return Agent{URL: base, Transport: a.transport(who, base.Host)}, nil
}

func (a *Agents) transport(who, host string) *http.Transport {
	key := who + " " + host
	a.mu.Lock()
	defer a.mu.Unlock()
	if t, ok := a.known.Get(key); ok {
		return t.(*http.Transport)
	}
	t := &http.Transport{
		DialContext:         (&net.Dialer{Timeout: dialWithin}).DialContext,
		TLSHandshakeTimeout: dialWithin,
		TLSClientConfig:     a.own.config(who),
		MaxIdleConnsPerHost: idleConns,
		IdleConnTimeout:     idleFor,
	}
	a.known.Add(key, t)
	return t
}

// locate is where the agent of a node answers, and whose certificate it must show.
func locate(node *corev1.Node) (base *url.URL, who string, err error) {
	who = pki.Node(node.Name).Name
	if text := node.Annotations[v1alpha1.AgentURLAnnotation]; text != "" {
		base, err = url.Parse(text)
		switch {
		case err == nil && base.Scheme == "https" && base.Host != "" && base.Path == "":
			return base, who, nil
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
				return &url.URL{Scheme: "https", Host: net.JoinHostPort(address.Address, strconv.Itoa(int(port)))}, who, nil
			}
		}
	}
	return nil, "", fmt.Errorf("node %q has no address in status.addresses: want one of type InternalIP, ExternalIP or Hostname", node.Name)
}
