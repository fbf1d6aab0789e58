package connect

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/httpstream/wsstream"
	"k8s.io/apimachinery/pkg/util/proxy"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/registry/rest"
	streams "k8s.io/apiserver/pkg/util/proxy"

	"github.com/berthproject/berth/apiserver/reach"
)

// Streams serves pods/exec, pods/attach and pods/portforward.
type Streams struct {
	Pods       Pods
	Agents     *reach.Agents
	Authorizer authorizer.Authorizer
}

// connecter is one of them.
type connecter struct {
	s       Streams
	options func() runtime.Object
	handler func(ctx context.Context, pod *corev1.Pod, options runtime.Object, answer rest.Responder) (http.Handler, error)
}

var _ rest.Connecter = &connecter{}

func (c *connecter) New() runtime.Object                               { return c.options() }
func (c *connecter) Destroy()                                          {}
func (c *connecter) ConnectMethods() []string                          { return []string{http.MethodGet, http.MethodPost} }
func (c *connecter) NewConnectOptions() (runtime.Object, bool, string) { return c.options(), false, "" }

func (c *connecter) Connect(ctx context.Context, name string, options runtime.Object, answer rest.Responder) (http.Handler, error) {
	if err := mayCreate(ctx, c.s.Authorizer); err != nil {
		return nil, err
	}
	pod, err := c.s.Pods.get(ctx, name)
	if err != nil {
		return nil, err
	}
	if pod.Spec.NodeName == "" {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("pod %s does not have a host assigned", name))
	}
	return c.handler(ctx, pod, options, answer)
}

// Exec serves pods/exec.
func (s Streams) Exec() rest.Storage {
	return &connecter{s, func() runtime.Object { return &corev1.PodExecOptions{} },
		func(ctx context.Context, pod *corev1.Pod, options runtime.Object, answer rest.Responder) (http.Handler, error) {
			o := options.(*corev1.PodExecOptions)
			query := url.Values{}
			for _, part := range o.Command {
				query.Add("command", part)
			}
			return s.terminal(ctx, pod, "exec", o.Container, query, streams.Options{Stdin: o.Stdin, Stdout: o.Stdout, Stderr: o.Stderr, Tty: o.TTY}, answer)
		}}
}

// Attach serves pods/attach.
func (s Streams) Attach() rest.Storage {
	return &connecter{s, func() runtime.Object { return &corev1.PodAttachOptions{} },
		func(ctx context.Context, pod *corev1.Pod, options runtime.Object, answer rest.Responder) (http.Handler, error) {
			o := options.(*corev1.PodAttachOptions)
			return s.terminal(ctx, pod, "attach", o.Container, url.Values{}, streams.Options{Stdin: o.Stdin, Stdout: o.Stdout, Stderr: o.Stderr, Tty: o.TTY}, answer)
		}}
}

// terminal connects the streams of a process.
func (s Streams) terminal(ctx context.Context, pod *corev1.Pod, what, name string, query url.Values, want streams.Options, answer rest.Responder) (http.Handler, error) {
	name, err := container(pod, name)
	if err != nil {
		return nil, err
	}
	agent, err := s.Agents.Of(ctx, pod.Spec.NodeName)
	if err != nil {
		return nil, err
	}
	for stream, on := range map[string]bool{"input": want.Stdin, "output": want.Stdout, "error": want.Stderr, "tty": want.Tty} {
		if on {
			query.Set(stream, "1")
		}
	}
	to := agent.At(fmt.Sprintf("/%s/%s/%s/%s", what, pod.Namespace, pod.Name, name), query)
	return streams.NewTranslatingHandler(handOver(to, agent.Transport, answer),
		streams.NewStreamTranslatorHandler(to, agent.Transport, 0, want), wsstream.IsWebSocketRequestWithStreamCloseProtocol), nil
}

// PortForward serves pods/portforward.
func (s Streams) PortForward() rest.Storage {
	return &connecter{s, func() runtime.Object { return &corev1.PodPortForwardOptions{} },
		func(ctx context.Context, pod *corev1.Pod, options runtime.Object, answer rest.Responder) (http.Handler, error) {
			agent, err := s.Agents.Of(ctx, pod.Spec.NodeName)
			if err != nil {
				return nil, err
			}
			query := url.Values{}
			for _, port := range options.(*corev1.PodPortForwardOptions).Ports {
				query.Add("port", strconv.Itoa(int(port)))
			}
			h := handOver(agent.At(fmt.Sprintf("/portForward/%s/%s", pod.Namespace, pod.Name), query), agent.Transport, answer)
			return streams.NewTranslatingHandler(h, streams.NewTunnelingHandler(h), wsstream.IsWebSocketRequestWithTunnelingProtocol), nil
		}}
}

// handOver connects a client that upgrades with where it wants to go.
func handOver(to *url.URL, transport http.RoundTripper, answer rest.Responder) http.Handler {
	return proxy.NewUpgradeAwareHandler(to, transport, false, true, proxy.NewErrorResponder(answer))
}
