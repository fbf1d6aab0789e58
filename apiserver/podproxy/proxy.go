package podproxy

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/httpstream" //nolint:staticcheck // k8s.io/apiserver uses it
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/proxy"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/registry/rest"
)

var proxyMethods = []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions}

// dialTimeout is the maximum duration of connecting to a pod, and that of the TLS handshake.
const dialTimeout = 5 * time.Second

// proxyREST proxies requests to the location of an object.
type proxyREST struct {
	options    func() runtime.Object                                                       // returns empty connect options
	subpath    func(options runtime.Object) string                                         // returns the path below the location
	find       func(ctx context.Context, name string) (*url.URL, http.RoundTripper, error) // returns the location of an object
	authorizer authorizer.Authorizer
}

var _ rest.Connecter = &proxyREST{}

func (p *proxyREST) New() runtime.Object      { return p.options() }
func (p *proxyREST) Destroy()                 {}
func (p *proxyREST) ConnectMethods() []string { return proxyMethods }
func (p *proxyREST) NewConnectOptions() (runtime.Object, bool, string) {
	return p.options(), true, "path"
}

func (p *proxyREST) Connect(ctx context.Context, name string, options runtime.Object, responder rest.Responder) (http.Handler, error) {
	location, transport, err := p.find(ctx, name)
	if err != nil {
		return nil, err
	}
	if subpath := p.subpath(options); subpath != "" { // joined to "/" first, so that dots cannot leave the location
		location.Path = utilnet.JoinPreservingTrailingSlash(location.Path, utilnet.JoinPreservingTrailingSlash("/", subpath))
	}
	h := proxy.NewUpgradeAwareHandler(location, transport, true, false, proxy.NewErrorResponder(responder))
	h.RejectForwardingRedirects = true
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if httpstream.IsUpgradeRequest(r) {
			if err := authorizeCreate(ctx, p.authorizer); err != nil {
				responder.Error(err)
				return
			}
		}
		h.ServeHTTP(w, r)
	}), nil
}

// NodeProxy serves nodes/proxy, which proxies any path of the node agent.
func NodeProxy(c Connector) rest.Storage {
	return &proxyREST{func() runtime.Object { return &corev1.NodeProxyOptions{} },
		func(o runtime.Object) string { return o.(*corev1.NodeProxyOptions).Path },
		func(ctx context.Context, request string) (*url.URL, http.RoundTripper, error) {
			scheme, name, port, ok := utilnet.SplitSchemeNamePort(request)
			if !ok || scheme != "" && scheme != "https" {
				return nil, nil, apierrors.NewBadRequest(fmt.Sprintf("invalid node request %q: must be NAME or https:NAME:PORT", request))
			}
			agent, err := c.Nodes.Get(ctx, name)
			if err != nil {
				return nil, nil, err
			}
			if port != "" && port != agent.URL.Port() {
				return nil, nil, apierrors.NewBadRequest(fmt.Sprintf("node %q: cannot proxy to port %s: must be %s, the port of the node agent", name, port, agent.URL.Port()))
			}
			return agent.URLFor("", nil), agent.Transport, nil
		}, c.Authorizer}
}

// PodProxy serves pods/proxy: NAME, NAME:PORT or SCHEME:NAME:PORT.
func PodProxy(c Connector) rest.Storage {
	transport := podTransport()
	return &proxyREST{func() runtime.Object { return &corev1.PodProxyOptions{} },
		func(o runtime.Object) string { return o.(*corev1.PodProxyOptions).Path },
		func(ctx context.Context, request string) (*url.URL, http.RoundTripper, error) {
			scheme, name, port, ok := utilnet.SplitSchemeNamePort(request)
			if !ok {
				return nil, nil, apierrors.NewBadRequest(fmt.Sprintf("invalid pod request %q: must be NAME, NAME:PORT or SCHEME:NAME:PORT", request))
			}
			pod, err := c.Pods.get(ctx, name)
			if err != nil {
				return nil, nil, err
			}
			if port == "" {
				port = firstPort(pod)
			}
			if err := checkProxyAddress(pod.Status.PodIP); err != nil {
				return nil, nil, apierrors.NewBadRequest(fmt.Sprintf("pod %q: %v", name, err))
			}
			return podURL(scheme, pod.Status.PodIP, port), transport, nil
		}, c.Authorizer}
}

// podTransport returns the transport to pods. Their certificates cannot be verified.
func podTransport() *http.Transport {
	return &http.Transport{
		DialContext:         (&net.Dialer{Timeout: dialTimeout}).DialContext,
		TLSHandshakeTimeout: dialTimeout,
		TLSClientConfig:     &tls.Config{InsecureSkipVerify: true},
	}
}

func podURL(scheme, ip, port string) *url.URL {
	u := &url.URL{Scheme: cmp.Or(scheme, "http"), Host: ip}
	if strings.Contains(ip, ":") {
		u.Host = "[" + ip + "]"
	}
	if port != "" {
		u.Host = net.JoinHostPort(ip, port)
	}
	return u
}

func firstPort(pod *corev1.Pod) string {
	for _, c := range pod.Spec.Containers {
		if len(c.Ports) > 0 {
			return fmt.Sprint(c.Ports[0].ContainerPort)
		}
	}
	return ""
}

// checkProxyAddress rejects addresses that cannot be those of a pod, such as loopback and link-local
// addresses.
func checkProxyAddress(text string) error {
	ip := net.ParseIP(text)
	switch {
	case text == "":
		return errors.New("the pod has no IP address yet")
	case ip == nil || !ip.IsGlobalUnicast():
		return fmt.Errorf("cannot proxy to IP address %q: must be a global unicast address", text)
	}
	return nil
}
