package main

import (
	"context"
	"fmt"
	"io"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/berthproject/berth/agent/nodeagent"
	"github.com/berthproject/berth/agent/serviceproxy"
	"github.com/berthproject/berth/dns"
	"github.com/berthproject/berth/internal/cli"
)

// startServices starts the service proxy of a node's machine, and makes pods use the cluster's
// DNS server if the kubelet configuration names none. The proxy's rules remain when the agent stops,
// because the pods keep running. The caller must call stop.
func (f *agentFlags) startServices(ctx context.Context, out io.Writer, c *rest.Config, o *nodeagent.Options) (stop func(), err error) {
	stop = func() {}
	k := &o.Kubelet
	run, note, err := chooseServiceProxy(f.serviceProxy)
	if err != nil {
		return stop, err
	}
	if run && f.serviceProxy == switchAuto {
		// Kubernetes does not grant nodes this permission; its clusters run kube-proxy.
		if denied := cli.RequirePermission(ctx, c, authorizationv1.ResourceAttributes{Verb: "list", Group: "discovery.k8s.io", Resource: "endpointslices"}, "the cluster is expected to run kube-proxy"); denied != nil {
			run, note = false, "the service proxy is off: "+denied.Error()
		}
	}
	if note != "" {
		fmt.Fprintln(out, "berth:", note)
	}
	client, err := kubernetes.NewForConfig(c)
	if err != nil {
		return stop, err
	}
	if len(k.ClusterDNS) == 0 {
		if s, err := client.CoreV1().Services(metav1.NamespaceSystem).Get(ctx, dns.ServiceName, metav1.GetOptions{}); err == nil && s.Spec.ClusterIP != "" {
			k.ClusterDNS = []string{s.Spec.ClusterIP}
			if k.ClusterDomain == "" {
				k.ClusterDomain = defaultClusterDomain
			}
		}
	}
	if !run {
		return stop, nil
	}
	proxy, err := newServiceProxy(c, []string{f.name}, serviceproxy.Options{KeepRules: true, Yield: f.serviceProxy == switchAuto, MinSync: serviceSync(o.Nodes)})
	if err != nil {
		return stop, err
	}
	o.AwaitEndpoints = proxy.AwaitUnrouted
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := proxy.Run(ctx); err != nil {
			klog.ErrorS(err, "The service proxy failed; pods on this node cannot reach Services")
		}
	}()
	return func() { cancel(); <-ended }, nil
}
