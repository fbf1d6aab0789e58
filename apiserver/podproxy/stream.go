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

// Connector connects clients to node agents and pods.
type Connector struct {
	Pods       PodGetter
	Nodes      *nodeclient.ConnectionGetter
	Authorizer authorizer.Authorizer
}

// streamREST serves pods/exec, pods/attach or pods/portforward.
type streamREST struct {
	connector Connector
	options   func() runtime.Object
	handler   func(ctx context.Context, pod *corev1.Pod, options runtime.Object, responder rest.Responder) (http.Handler, error)
}

var _ rest.Connecter = &streamREST{}

func (s *streamREST) New() runtime.Object      { return s.options() }
func (s *streamREST) Destroy()                 {}
func (s *streamREST) ConnectMethods() []string { return []string{http.MethodGet, http.MethodPost} }
func (s *streamREST) NewConnectOptions() (runtime.Object, bool, string) {
	return s.options(), false, ""
}

func (s *streamREST) Connect(ctx context.Context, name string, options runtime.Object, responder rest.Responder) (http.Handler, error) {
	if err := authorizeCreate(ctx, s.connector.Authorizer); err != nil {
		return nil, err
	}
	pod, err := s.connector.Pods.get(ctx, name)
	if err != nil {
		return nil, err
	}
	if pod.Spec.NodeName == "" {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("pod %s does not have a host assigned", name))
	}
	return s.handler(ctx, pod, options, responder)
}

// Exec returns the storage of pods/exec.
func (c Connector) Exec() rest.Storage {
	return &streamREST{c, func() runtime.Object { return &corev1.PodExecOptions{} },
		func(ctx context.Context, pod *corev1.Pod, options runtime.Object, responder rest.Responder) (http.Handler, error) {
			o := options.(*corev1.PodExecOptions)
			query := url.Values{}
			for _, part := range o.Command {
				query.Add("command", part)
			}
			return c.connectProcess(ctx, pod, "exec", o.Container, query, streams.Options{Stdin: o.Stdin, Stdout: o.Stdout, Stderr: o.Stderr, Tty: o.TTY}, responder)
		}}
}

// Attach returns the storage of pods/attach.
func (c Connector) Attach() rest.Storage {
	return &streamREST{c, func() runtime.Object { return &corev1.PodAttachOptions{} },
		func(ctx context.Context, pod *corev1.Pod, options runtime.Object, responder rest.Responder) (http.Handler, error) {
			o := options.(*corev1.PodAttachOptions)
			return c.connectProcess(ctx, pod, "attach", o.Container, url.Values{}, streams.Options{Stdin: o.Stdin, Stdout: o.Stdout, Stderr: o.Stderr, Tty: o.TTY}, responder)
		}}
}

// agent returns the connection to the pod's node agent. It returns a bad request for a simulated pod,
// because clients cannot decode an error after the upgrade.
func (c Connector) agent(ctx context.Context, pod *corev1.Pod, unsupported string) (nodeclient.Connection, error) {
	agent, err := c.Nodes.Get(ctx, pod.Spec.NodeName)
	if err == nil && agent.Simulated {
		err = apierrors.NewBadRequest(fmt.Sprintf("pod %q on node %q is simulated: %s", pod.Name, pod.Spec.NodeName, unsupported))
	}
	return agent, err
}

// connectProcess proxies the streams of a process in a container.
func (c Connector) connectProcess(ctx context.Context, pod *corev1.Pod, subresource, container string, query url.Values, options streams.Options, responder rest.Responder) (http.Handler, error) {
	container, err := resolveContainer(pod, container)
	if err != nil {
		return nil, err
	}
	agent, err := c.agent(ctx, pod, "exec and attach are not supported")
	if err != nil {
		return nil, err
	}
	for parameter, enabled := range map[string]bool{"input": options.Stdin, "output": options.Stdout, "error": options.Stderr, "tty": options.Tty} {
		if enabled {
			query.Set(parameter, "1")
		}
	}
	location := agent.URLFor(fmt.Sprintf("/%s/%s/%s/%s", subresource, pod.Namespace, pod.Name, container), query)
	return streams.NewTranslatingHandler(newUpgradeHandler(location, agent.Transport, responder),
		streams.NewStreamTranslatorHandler(location, agent.Transport, 0, options), wsstream.IsWebSocketRequestWithStreamCloseProtocol), nil
}

// PortForward returns the storage of pods/portforward.
func (c Connector) PortForward() rest.Storage {
	return &streamREST{c, func() runtime.Object { return &corev1.PodPortForwardOptions{} },
		func(ctx context.Context, pod *corev1.Pod, options runtime.Object, responder rest.Responder) (http.Handler, error) {
			agent, err := c.agent(ctx, pod, "port-forward is not supported")
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

// newUpgradeHandler returns a handler that proxies an upgraded connection.
func newUpgradeHandler(location *url.URL, transport http.RoundTripper, responder rest.Responder) http.Handler {
	return proxy.NewUpgradeAwareHandler(location, transport, false, true, proxy.NewErrorResponder(responder))
}
