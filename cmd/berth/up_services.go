package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/berthproject/berth/agent/serviceproxy"
	"github.com/berthproject/berth/apiserver/auth/pki"
	"github.com/berthproject/berth/dns"
	"github.com/berthproject/berth/internal/cli"
	"github.com/berthproject/berth/internal/config"
	"github.com/berthproject/berth/internal/rungroup"
	"github.com/berthproject/berth/internal/settings"
)

// Values of --service-proxy and --dns.
const (
	switchAuto = "auto"
	switchOn   = "on"
	switchOff  = "off"
)

// serviceSwitch is the value of a flag that is auto, on or off.
type serviceSwitch string

// String implements pflag.Value.
func (s *serviceSwitch) String() string { return string(*s) }

// Type implements pflag.Value.
func (s *serviceSwitch) Type() string { return "string" }

// Set implements pflag.Value.
func (s *serviceSwitch) Set(text string) error {
	switch text {
	case switchAuto, switchOn, switchOff:
		*s = serviceSwitch(text)
		return nil
	}
	return fmt.Errorf("must be %s, %s or %s", switchAuto, switchOn, switchOff)
}

func addServiceProxyFlag(flags *pflag.FlagSet, value *serviceSwitch) {
	*value = switchAuto
	flags.Var(value, "service-proxy", "route Services on this machine by nftables: on, off (also removes the rules), or auto: on unless kube-proxy runs here")
}

// chooseServiceProxy reports whether the service proxy runs on this machine. With off, it removes the rules of the
// proxy unless another process uses them. With auto, note is the reason why the proxy does not run.
func chooseServiceProxy(s serviceSwitch) (run bool, note string, err error) {
	if s == switchOff {
		return false, "", serviceproxy.RemoveUnused()
	}
	if err := serviceproxy.Check(); err != nil {
		if s == switchOn {
			return false, "", fmt.Errorf("--service-proxy on: %w", err)
		}
		return false, "pods cannot reach Services: " + err.Error(), nil
	}
	if other := serviceproxy.DetectOtherProxy(); other != "" && s == switchAuto {
		return false, "Services are routed by kube-proxy (" + other + "); --service-proxy on overrides this", nil
	}
	return true, "", nil
}

// upServices holds the flags of `berth up` for Services and DNS on its nodes.
type upServices struct {
	proxy, dns serviceSwitch
	runProxy   bool
	dnsIP      netip.Addr // cluster IP of cluster DNS; invalid if it does not run
	setDNS     bool       // pods use dnsIP: the kubelet configuration names no DNS server
}

func (u *upServices) addFlags(flags *pflag.FlagSet) {
	addServiceProxyFlag(flags, &u.proxy)
	u.dns = switchAuto
	flags.Var(&u.dns, "dns", "cluster DNS for the pods of real and virtual nodes: on, off, or auto: on if the service proxy runs and the cluster has no other DNS server")
}

// prepare decides whether the service proxy and cluster DNS run, records notes about missing
// features, and sets the DNS server of pods.
func (u *upServices) prepare(local *upLocalNodes, serviceRange string, k *config.Kubelet) (err error) {
	if !local.enabled() {
		return nil
	}
	var note string
	if u.proxy == switchAuto && serviceproxy.Running() {
		local.notes = append(local.notes, "another cluster's service proxy runs on this machine: pods of this cluster have no Services and no cluster DNS")
		return nil
	}
	u.runProxy, note, err = chooseServiceProxy(u.proxy)
	if err != nil {
		return err
	}
	if note != "" {
		local.notes = append(local.notes, note)
	}
	if u.dns == switchOff || u.dns == switchAuto && !u.runProxy {
		return nil
	}
	if u.dnsIP, err = clusterDNSAddress(serviceRange); err != nil {
		return err
	}
	if u.setDNS = len(k.ClusterDNS) == 0; u.setDNS {
		k.ClusterDNS = []string{u.dnsIP.String()}
	}
	k.ClusterDomain = cmp.Or(k.ClusterDomain, defaultClusterDomain)
	return nil
}

// describe describes the running services. It returns "" if there are none.
func (u *upServices) describe() string {
	var parts []string
	if u.runProxy {
		parts = append(parts, "routed by nftables")
	}
	if u.dnsIP.IsValid() {
		parts = append(parts, "cluster DNS at "+u.dnsIP.String())
	}
	return strings.Join(parts, ", ")
}

// defaultClusterDomain is the default of the kubelet's clusterDomain in most clusters.
const defaultClusterDomain = "cluster.local"

// clusterDNSAddress returns the tenth address of the range of cluster IPs, as kubeadm does.
func clusterDNSAddress(serviceRange string) (netip.Addr, error) {
	p, err := netip.ParsePrefix(serviceRange)
	if err != nil {
		return netip.Addr{}, fmt.Errorf("--service-cluster-ip-range %q: %w", serviceRange, err)
	}
	a := p.Masked().Addr()
	for range 10 {
		a = a.Next()
	}
	if !p.Contains(a) || !p.Contains(a.Next()) {
		return netip.Addr{}, fmt.Errorf("--service-cluster-ip-range %s: has no tenth address for cluster DNS: use a larger range or --dns off", serviceRange)
	}
	return a, nil
}

// start starts the service proxy and cluster DNS.
func (u *upServices) start(group *rungroup.Group, c *rest.Config, local *upLocalNodes, set *settings.Settings) error {
	k := &set.Kubelet
	if !local.enabled() {
		return nil
	}
	if u.runProxy {
		proxy, err := newServiceProxy(cli.Impersonate(c, pki.ServiceProxy().Name), local.nodeNames(), serviceproxy.Options{KeepRules: local.realNode, Yield: u.proxy == switchAuto, MinSync: serviceSync(set.Berth.Nodes)})
		if err != nil {
			return err
		}
		local.awaitEndpoints = proxy.AwaitUnrouted
		group.Start("service proxy", proxy.Run)
	}
	admin, err := kubernetes.NewForConfig(c)
	if err != nil {
		return err
	}
	if !u.dnsIP.IsValid() {
		return dns.Unregister(group.Ctx, admin)
	}
	if err := dns.Register(group.Ctx, admin, u.dnsIP); err != nil {
		return u.disableDNS(err, local, k)
	}
	c = cli.Impersonate(c, pki.Component("cluster-dns").Name)
	c.QPS = -1
	client, err := kubernetes.NewForConfig(c)
	if err != nil {
		return err
	}
	o := dns.Options{Client: client, Domain: k.ClusterDomain, ResolvConf: k.ResolvConf, OwnAddresses: []netip.Addr{u.dnsIP}, Log: klog.Background()}
	group.Start("cluster DNS", func(ctx context.Context) error { return dns.Run(ctx, o, admin) })
	return nil
}

// serviceSync returns the minimum time between two updates of the service proxy.
func serviceSync(n config.Nodes) time.Duration {
	return time.Duration(n.ServiceSyncMilliseconds) * time.Millisecond
}

// disableDNS disables cluster DNS, or returns an error if --dns is on. Pods use the cluster's other DNS server, if
// there is one.
func (u *upServices) disableDNS(reason error, local *upLocalNodes, k *config.Kubelet) error {
	if u.dns == switchOn {
		return fmt.Errorf("--dns on: %w", reason)
	}
	u.dnsIP = netip.Addr{}
	local.notes = append(local.notes, "cluster DNS is off: "+reason.Error())
	if !u.setDNS {
		return nil
	}
	k.ClusterDNS = nil
	if otherDNS := (*dns.OtherServerError)(nil); errors.As(reason, &otherDNS) && otherDNS.ClusterIP != "" {
		k.ClusterDNS = []string{otherDNS.ClusterIP}
	}
	return nil
}

// newServiceProxy returns the service proxy of nodes. It sets the client, the nodes and the log of o.
func newServiceProxy(c *rest.Config, nodes []string, o serviceproxy.Options) (*serviceproxy.Proxy, error) {
	c = rest.CopyConfig(c)
	c.QPS = -1
	client, err := kubernetes.NewForConfig(c)
	if err != nil {
		return nil, err
	}
	o.Client, o.Nodes, o.Log = client, nodes, klog.Background()
	return serviceproxy.New(o), nil
}
