package connect

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/httpstream"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/proxy"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/registry/rest"
)

var proxyMethods = []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions}

// dialWithin bounds how long it may take to get to a pod.
const dialWithin = 5 * time.Second

// proxied passes requests on to where a name leads to; below is the path from there.
type proxied struct {
	options func() runtime.Object
	below   func(runtime.Object) string
	find    func(ctx context.Context, name string) (*url.URL, http.RoundTripper, error)
	rights  authorizer.Authorizer
}

var _ rest.Connecter = &proxied{}

func (p *proxied) New() runtime.Object      { return p.options() }
func (p *proxied) Destroy()                 {}
func (p *proxied) ConnectMethods() []string { return proxyMethods }
func (p *proxied) NewConnectOptions() (runtime.Object, bool, string) {
	return p.options(), true, "path"
}

func (p *proxied) Connect(ctx context.Context, name string, options runtime.Object, answer rest.Responder) (http.Handler, error) {
	to, transport, err := p.find(ctx, name)
	if err != nil {
		return nil, err
	}
	if below := p.below(options); below != "" { // rooted first: dots do not lead out of what the name leads to
		to.Path = utilnet.JoinPreservingTrailingSlash(to.Path, utilnet.JoinPreservingTrailingSlash("/", below))
	}
	h := proxy.NewUpgradeAwareHandler(to, transport, true, false, proxy.NewErrorResponder(answer))
	h.RejectForwardingRedirects = true
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if httpstream.IsUpgradeRequest(r) {
			if err := mayCreate(ctx, p.rights); err != nil {
				answer.Error(err)
				return
			}
		}
		h.ServeHTTP(w, r)
	}), nil
}

// NodeProxy serves nodes/proxy: anything that the node's agent answers.
func NodeProxy(s Streams) rest.Storage {
	return &proxied{func() runtime.Object { return &corev1.NodeProxyOptions{} },
		func(o runtime.Object) string { return o.(*corev1.NodeProxyOptions).Path },
		func(ctx context.Context, name string) (*url.URL, http.RoundTripper, error) {
			scheme, name, port, ok := utilnet.SplitSchemeNamePort(name)
			if !ok || scheme != "" && scheme != "https" {
				return nil, nil, apierrors.NewBadRequest(fmt.Sprintf("invalid node request %q: want NAME or https:NAME:PORT", name))
			}
			agent, err := s.Agents.Of(ctx, name)
			if err != nil {
				return nil, nil, err
			}
			if port != "" && port != agent.URL.Port() {
				return nil, nil, apierrors.NewBadRequest(fmt.Sprintf("node %q: port %s is not proxied to; its agent answers at port %s", name, port, agent.URL.Port()))
			}
			return agent.At("", nil), agent.Transport, nil
		}, s.Authorizer}
}

// PodProxy serves pods/proxy: NAME, NAME:PORT or SCHEME:NAME:PORT.
func PodProxy(s Streams) rest.Storage {
	transport := podTransport()
	return &proxied{func() runtime.Object { return &corev1.PodProxyOptions{} },
		func(o runtime.Object) string { return o.(*corev1.PodProxyOptions).Path },
		func(ctx context.Context, name string) (*url.URL, http.RoundTripper, error) {
			scheme, name, port, ok := utilnet.SplitSchemeNamePort(name)
			if !ok {
				return nil, nil, apierrors.NewBadRequest(fmt.Sprintf("invalid pod request %q: want NAME, NAME:PORT or SCHEME:NAME:PORT", name))
			}
			pod, err := s.Pods.get(ctx, name)
			if err != nil {
				return nil, nil, err
			}
			if port == "" {
				port = firstPort(pod)
			}
			if err := proxyable(pod.Status.PodIP); err != nil {
				return nil, nil, apierrors.NewBadRequest(fmt.Sprintf("pod %q: %v", name, err))
			}
			return address(scheme, pod.Status.PodIP, port), transport, nil
		}, s.Authorizer}
}

// podTransport reaches pods. Whose certificate a pod shows nobody here can know.
func podTransport() *http.Transport {
	return &http.Transport{
		DialContext:         (&net.Dialer{Timeout: dialWithin}).DialContext,
		TLSHandshakeTimeout: dialWithin,
		TLSClientConfig:     &tls.Config{InsecureSkipVerify: true},
	}
}

func address(scheme, ip, port string) *url.URL {
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

// proxyable refuses addresses that lead to this machine instead of a pod.
func proxyable(text string) error {
	ip := net.ParseIP(text)
	switch {
	case text == "":
		return fmt.Errorf("has no address yet")
	case ip == nil || !ip.IsGlobalUnicast():
		return fmt.Errorf("address %s is not proxied to", text)
	}
	return nil
}
