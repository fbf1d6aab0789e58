package main

import (
	"context"
	"fmt"

	"github.com/spf13/pflag"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/berthproject/berth/agent/serviceproxy"
	"github.com/berthproject/berth/apiserver/auth/pki"
	"github.com/berthproject/berth/internal/cli"
	"github.com/berthproject/berth/internal/rungroup"
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

// addServiceProxyFlag defines --service-proxy.
func addServiceProxyFlag(flags *pflag.FlagSet, into *serviceSwitch) {
	*into = switchAuto
	flags.Var(into, "service-proxy", "route Services on this machine by nftables: on, off (also removes the rules), or auto: on unless kube-proxy runs here")
}

// chooseServiceProxy reports whether the service proxy runs on this machine. note says why
// it does not although it is not switched off.
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
	if other := serviceproxy.ForeignProxy(); other != "" && s == switchAuto {
		return false, "Services are routed by kube-proxy (" + other + "); --service-proxy on overrides this", nil
	}
	return true, "", nil
}

// upServices holds the flags of `berth up` for Services and DNS on its nodes.
type upServices struct {
	proxy    serviceSwitch
	runProxy bool
}

func (u *upServices) addFlags(flags *pflag.FlagSet) {
	addServiceProxyFlag(flags, &u.proxy)
}

// prepare decides what runs, and notes what pods lack.
func (u *upServices) prepare(local *upLocalNodes) (err error) {
	if !local.enabled() {
		return nil
	}
	var note string
	u.runProxy, note, err = chooseServiceProxy(u.proxy)
	if note != "" {
		local.notes = append(local.notes, note)
	}
	return err
}

// start starts the service proxy.
func (u *upServices) start(p *rungroup.Group, config *rest.Config, local *upLocalNodes) error {
	if !u.runProxy {
		return nil
	}
	return startServiceProxy(p, cli.Impersonate(config, pki.ServiceProxy().Name), local.nodeNames(), local.realNode)
}

// startServiceProxy starts the service proxy of these nodes. keepRules leaves its rules in
// place when it ends.
func startServiceProxy(p *rungroup.Group, config *rest.Config, nodes []string, keepRules bool) error {
	c := rest.CopyConfig(config)
	c.QPS = -1
	client, err := kubernetes.NewForConfig(c)
	if err != nil {
		return err
	}
	proxy := serviceproxy.New(serviceproxy.Options{Client: client, Nodes: nodes, KeepRules: keepRules, Log: klog.Background()})
	p.Start("service proxy", func(ctx context.Context) error { return proxy.Run(ctx) })
	return nil
}
