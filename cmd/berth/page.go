package main

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/spf13/pflag"
	genericserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"

	"github.com/berthproject/berth/controllers/componentserver"
	"github.com/berthproject/berth/ui"
)

// pageShutdownTimeout bounds how long requests of the page may take after a stop.
const pageShutdownTimeout = time.Second

const (
	pageListenFlag = "page-listen"
	pageAddress    = "127.0.0.1:8444"
)

// pageListener holds the flag of the web page that a component serves. If the flag is not set and the default port is
// taken, the page uses a free port.
type pageListener struct {
	address string
	flags   *pflag.FlagSet
}

// addFlag adds the flag with a default address; empty: no page.
func (o *pageListener) addFlag(f *pflag.FlagSet, address string) {
	o.flags = f
	usage := "loopback `ADDRESS:PORT` of the web page, for example " + pageAddress + "; empty: no page"
	if address != "" {
		usage = "loopback `ADDRESS:PORT` of the web page; empty: no page. If the default port is taken, another one is used"
	}
	f.StringVar(&o.address, pageListenFlag, address, usage)
}

// validate returns an error if other machines could reach the address.
func (o *pageListener) validate() error {
	if o.address == "" {
		return nil
	}
	address, err := netip.ParseAddrPort(o.address)
	if err != nil || !address.Addr().IsLoopback() {
		return fmt.Errorf("--%s %q: must be a loopback address with a port, for example %s or [::1]:0, or empty for no page", pageListenFlag, o.address, pageAddress)
	}
	return nil
}

func (o *pageListener) listen() (net.Listener, error) {
	if !o.flags.Changed(pageListenFlag) {
		return componentserver.ListenOrAnyPort(o.address)
	}
	listener, err := net.Listen("tcp", o.address)
	if err != nil {
		return nil, fmt.Errorf("--%s %s: must be free: %w", pageListenFlag, o.address, err)
	}
	return listener, nil
}

// serve serves the page over TLS until stop is closed, and closes stopped after that. It asks browsers for a client
// certificate that clientCA signed, unless clientCA is nil. Without a certificate it uses a self-signed one.
func (o *pageListener) serve(page *ui.Server, certificate dynamiccertificates.CertKeyContentProvider, clientCA dynamiccertificates.CAContentProvider, stop <-chan struct{}) (address net.Addr, stopped <-chan struct{}, err error) {
	listener, err := o.listen()
	if err != nil {
		return nil, nil, fmt.Errorf("starting the web page: %w", err)
	}
	if certificate == nil {
		if certificate, err = componentserver.SelfSigned(listener.Addr().String()); err != nil {
			return nil, nil, errors.Join(fmt.Errorf("starting the web page: %w", err), listener.Close())
		}
	}
	info := &genericserver.SecureServingInfo{Listener: listener, Cert: certificate, ClientCA: clientCA}
	stopped, _, err = info.Serve(page, pageShutdownTimeout, stop)
	if err != nil {
		return nil, nil, errors.Join(err, listener.Close())
	}
	return listener.Addr(), stopped, nil
}
