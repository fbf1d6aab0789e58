package main

import (
	"context"
	"fmt"
	"net"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/berthproject/berth/apiserver"
	"github.com/berthproject/berth/internal/localcluster"
	"github.com/berthproject/berth/internal/rungroup"
	"github.com/berthproject/berth/internal/settings"
	"github.com/berthproject/berth/ui"
)

// startPage serves the web page and returns its address, nil without a page. The page uses the address of the API
// server, not the connection in process: each request is authenticated like any other client's.
func (o *upOptions) startPage(p *rungroup.Group, server *apiserver.Server, settings settings.Settings, journal string) (net.Addr, error) {
	if o.page.address == "" {
		return nil, nil
	}
	config, err := clientcmd.BuildConfigFromFlags("", server.KubeconfigPath())
	if err != nil {
		return nil, fmt.Errorf("starting the web page: %w", err)
	}
	config.UserAgent = "berth-ui"
	answers := uiAnswers{settings: settings, journal: journal, policy: o.descheduler.policyOrDefault()}.answers()
	page, err := ui.New(ui.Options{Cluster: config, Answers: answers, PolicyFile: o.descheduler.policyFileName()})
	if err != nil {
		return nil, err
	}
	certificate, err := localcluster.ServingCertificate(server.Authority(), "berth-ui")
	if err != nil {
		return nil, fmt.Errorf("starting the web page: %w", err)
	}
	address, stopped, err := o.page.serve(page, certificate, p.Ctx.Done())
	if err != nil {
		return nil, err
	}
	p.Start("web page", func(context.Context) error {
		<-stopped
		return nil
	})
	return address, nil
}
