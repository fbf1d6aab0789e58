package podproxy

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/httpstream/wsstream" //nolint:staticcheck // k8s.io/apiserver uses it
	"k8s.io/apimachinery/pkg/util/proxy"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/registry/rest"
	streams "k8s.io/apiserver/pkg/util/proxy"

	"github.com/berthproject/berth/apiserver/nodeclient"
)

// Connector connects clients to node agents. It serves pods/exec, pods/attach and pods/portforward.
type Connector struct {
	Pods       PodGetter
	Nodes      *nodeclient.ConnectionGetter
	Authorizer authorizer.Authorizer
}

// streamREST serves one of these subresources.
type streamREST struct {
	connector Connector
	options   func() runtime.Object
	handler   func(ctx context.Context, pod *corev1.Pod, options runtime.Object, responder rest.Responder) (http.Handler, error)
}

var _ rest.Connecter = &streamREST{}

func (c *streamREST) New() runtime.Object      { return c.options() }
func (c *streamREST) Destroy()                 {}
func (c *streamREST) ConnectMethods() []string { return []string{http.MethodGet, http.MethodPost} }
func (c *streamREST) NewConnectOptions() (runtime.Object, bool, string) {
	return c.options(), false, ""
}

func (c *streamREST) Connect(ctx context.Context, name string, options runtime.Object, responder rest.Responder) (http.Handler, error) {
	if err := authorizeCreate(ctx, c.connector.Authorizer); err != nil {
		return nil, err
	}
	pod, err := c.connector.Pods.get(ctx, name)
	if err != nil {
		return nil, err
	}
	if pod.Spec.NodeName == "" {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("pod %s does not have a host assigned", name))
	}
	return c.handler(ctx, pod, options, responder)
}

// Exec returns the storage of pods/exec.
func (s Connector) Exec() rest.Storage {
	return &streamREST{s, func() runtime.Object { return &corev1.PodExecOptions{} },
		func(ctx context.Context, pod *corev1.Pod, options runtime.Object, responder rest.Responder) (http.Handler, error) {
			o := options.(*corev1.PodExecOptions)
			query := url.Values{}
			for _, part := range o.Command {
				query.Add("command", part)
			}
			return s.connectProcess(ctx, pod, "exec", o.Container, query, streams.Options{Stdin: o.Stdin, Stdout: o.Stdout, Stderr: o.Stderr, Tty: o.TTY}, responder)
		}}
}

// Attach returns the storage of pods/attach.
func (s Connector) Attach() rest.Storage {
	return &streamREST{s, func() runtime.Object { return &corev1.PodAttachOptions{} },
		func(ctx context.Context, pod *corev1.Pod, options runtime.Object, responder rest.Responder) (http.Handler, error) {
			o := options.(*corev1.PodAttachOptions)
			return s.connectProcess(ctx, pod, "attach", o.Container, url.Values{}, streams.Options{Stdin: o.Stdin, Stdout: o.Stdout, Stderr: o.Stderr, Tty: o.TTY}, responder)
		}}
}

// agent returns the connection to the pod's node agent. The error for a simulated pod is returned
// here: after the upgrade, clients cannot decode one.
func (s Connector) agent(ctx context.Context, pod *corev1.Pod, unsupported string) (nodeclient.Connection, error) {
	agent, err := s.Nodes.Get(ctx, pod.Spec.NodeName)
	if err == nil && agent.Simulated {
		err = apierrors.NewBadRequest(fmt.Sprintf("pod %q on node %q is simulated: %s", pod.Name, pod.Spec.NodeName, unsupported))
	}
	return agent, err
}

// connectProcess proxies the streams of a process in a container.
func (s Connector) connectProcess(ctx context.Context, pod *corev1.Pod, what, name string, query url.Values, want streams.Options, responder rest.Responder) (http.Handler, error) {
	name, err := resolveContainer(pod, name)
	if err != nil {
		return nil, err
	}
	agent, err := s.agent(ctx, pod, "exec and attach are not supported")
	if err != nil {
		return nil, err
	}
	for stream, on := range map[string]bool{"input": want.Stdin, "output": want.Stdout, "error": want.Stderr, "tty": want.Tty} {
		if on {
			query.Set(stream, "1")
		}
	}
	to := agent.URLFor(fmt.Sprintf("/%s/%s/%s/%s", what, pod.Namespace, pod.Name, name), query)
	return streams.NewTranslatingHandler(newUpgradeHandler(to, agent.Transport, responder),
		streams.NewStreamTranslatorHandler(to, agent.Transport, 0, want), wsstream.IsWebSocketRequestWithStreamCloseProtocol), nil
}

// PortForward returns the storage of pods/portforward.
func (s Connector) PortForward() rest.Storage {
	return &streamREST{s, func() runtime.Object { return &corev1.PodPortForwardOptions{} },
		func(ctx context.Context, pod *corev1.Pod, options runtime.Object, responder rest.Responder) (http.Handler, error) {
			agent, err := s.agent(ctx, pod, "port-forward is not supported")
			if err != nil {
				return nil, err
			}
			query := url.Values{}
			for _, port := range options.(*corev1.PodPortForwardOptions).Ports {
				query.Add("port", strconv.Itoa(int(port)))
			}
			h := newUpgradeHandler(agent.URLFor(fmt.Sprintf("/portForward/%s/%s", pod.Namespace, pod.Name), query), agent.Transport, responder)
			return streams.NewTranslatingHandler(h, streams.NewTunnelingHandler(h), wsstream.IsWebSocketRequestWithTunnelingProtocol), nil
		}}
}

// newUpgradeHandler proxies an upgraded connection.
func newUpgradeHandler(to *url.URL, transport http.RoundTripper, responder rest.Responder) http.Handler {
	return proxy.NewUpgradeAwareHandler(to, transport, false, true, proxy.NewErrorResponder(responder))
}
