package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/spf13/pflag"
	genericserver "k8s.io/apiserver/pkg/server"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/berthproject/berth/apiserver"
	"github.com/berthproject/berth/controllers/metricsserver"
	"github.com/berthproject/berth/internal/localcluster"
	"github.com/berthproject/berth/internal/rungroup"
	"github.com/berthproject/berth/internal/settings"
	"github.com/berthproject/berth/ui"
)

// pageShutdownTimeout bounds how long requests of the page may take after a stop.
const pageShutdownTimeout = time.Second

// upPage holds the flag of the web page. Without the flag, a free port is used if 8444 is taken.
type upPage struct {
	address string
	flags   *pflag.FlagSet
}

const pageListenFlag = "page-listen"

func (o *upPage) addFlags(f *pflag.FlagSet) {
	o.flags = f
	f.StringVar(&o.address, pageListenFlag, "127.0.0.1:8444", "loopback `ADDRESS:PORT` of the web page; empty: no page (default: a free port if 8444 is taken)")
}

// validate returns an error if other machines could reach the address.
func (o *upPage) validate() error {
	if o.address == "" {
		return nil
	}
	address, err := netip.ParseAddrPort(o.address)
	if err != nil || !address.Addr().IsLoopback() {
		return fmt.Errorf("--%s %q: must be a loopback address with a port, for example 127.0.0.1:8444 or [::1]:0, or empty for no page", pageListenFlag, o.address)
	}
	return nil
}

func (o *upPage) listen() (net.Listener, error) {
	if !o.flags.Changed(pageListenFlag) {
		return metricsserver.ListenOrAnyPort(o.address)
	}
	listener, err := net.Listen("tcp", o.address)
	if err != nil {
		return nil, fmt.Errorf("--%s %s: must be free: %w", pageListenFlag, o.address, err)
	}
	return listener, nil
}

// start serves the web page over TLS and returns its address, nil without a page. Users sign in with a bearer
// token. The page uses the address of the API server, not the connection in process: each
// request is authenticated like any other client's.
func (o *upPage) start(p *rungroup.Group, server *apiserver.Server, settings settings.Settings, journal string, d *upDescheduler) (net.Addr, error) {
	if o.address == "" {
		return nil, nil
	}
	config, err := clientcmd.BuildConfigFromFlags("", server.KubeconfigPath())
	if err != nil {
		return nil, fmt.Errorf("starting the web page: %w", err)
	}
	config.UserAgent = "berth-ui"
	answers := uiAnswers{settings: settings, journal: journal, policy: d.policyOrDefault()}.answers()
	page, err := ui.New(ui.Options{Cluster: config, Answers: answers, PolicyFile: d.policyFileName()})
	if err != nil {
		return nil, err
	}
	certificate, err := localcluster.ServingCertificate(server.Authority(), "berth-ui")
	if err != nil {
		return nil, fmt.Errorf("starting the web page: %w", err)
	}
	listener, err := o.listen()
	if err != nil {
		return nil, fmt.Errorf("starting the web page: %w", err)
	}
	info := &genericserver.SecureServingInfo{Listener: listener, Cert: certificate}
	stopped, _, err := info.Serve(page, pageShutdownTimeout, p.Ctx.Done())
	if err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	p.Start("web page", func(context.Context) error {
		<-stopped
		return nil
	})
	return listener.Addr(), nil
}
