package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	genericserver "k8s.io/apiserver/pkg/server"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/berthproject/berth/apiserver"
	"github.com/berthproject/berth/controllers/metricsserver"
	"github.com/berthproject/berth/internal/localcluster"
	"github.com/berthproject/berth/internal/rungroup"
	"github.com/berthproject/berth/internal/settings"
	"github.com/berthproject/berth/ui"
)

const (
	// pageAddress is where `berth up` serves the web page, unless it is taken.
	pageAddress = "127.0.0.1:6444"
	// pageShutdownTimeout bounds how long requests of the page may take after a stop.
	pageShutdownTimeout = time.Second
)

// startPage serves the web page over TLS on a loopback address. Users sign in with a bearer
// token. The page uses the address of the API server, not the connection in process: each
// request is authenticated like any other client's.
func startPage(p *rungroup.Group, server *apiserver.Server, settings settings.Settings, journal string) (net.Addr, error) {
	config, err := clientcmd.BuildConfigFromFlags("", server.KubeconfigPath())
	if err != nil {
		return nil, fmt.Errorf("starting the web page: %w", err)
	}
	config.UserAgent = "berth-ui"
	page, err := ui.New(ui.Options{Cluster: config, Answers: uiAnswers{settings, journal}.answers()})
	if err != nil {
		return nil, err
	}
	certificate, err := localcluster.ServingCertificate(server.Authority(), "berth-ui")
	if err != nil {
		return nil, fmt.Errorf("starting the web page: %w", err)
	}
	listener, err := metricsserver.ListenOrAnyPort(pageAddress)
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
