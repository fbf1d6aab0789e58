package main

import (
	"context"
	"fmt"
	"net"

	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/berthproject/berth/apiserver"
	"github.com/berthproject/berth/internal/localcluster"
	"github.com/berthproject/berth/internal/rungroup"
	"github.com/berthproject/berth/internal/settings"
	"github.com/berthproject/berth/ui"
	"github.com/berthproject/berth/ui/answers"
)

// startPage serves the web page and returns its address, nil without a page. The page uses the address of the API
// server, not the connection in process: each request is authenticated like any other client's.
func (o *upOptions) startPage(group *rungroup.Group, server *apiserver.Server, loaded settings.Settings, journal string) (net.Addr, error) {
	if o.page.address == "" {
		return nil, nil
	}
	config, err := clientcmd.BuildConfigFromFlags("", server.KubeconfigPath())
	if err != nil {
		return nil, fmt.Errorf("starting the web page: %w", err)
	}
	config.UserAgent = "berth-ui"
	source := answers.Source{Settings: loaded, Journal: journal, Policy: o.descheduler.policyOrDefault()}
	clientCA, err := dynamiccertificates.NewDynamicCAContentFromFile("web-page-client-ca", server.Authority().CAFile())
	if err != nil {
		return nil, fmt.Errorf("starting the web page: %w", err)
	}
	proxy, err := frontProxyConfig(config, server)
	if err != nil {
		return nil, fmt.Errorf("starting the web page: %w", err)
	}
	page, err := ui.New(ui.Options{Cluster: config, Answers: source.Answers(), PolicyFile: o.descheduler.policyFileName(),
		ClientCertificates: &ui.ClientCertificates{Verify: clientCA.VerifyOptions, FrontProxy: proxy}})
	if err != nil {
		return nil, err
	}
	certificate, err := localcluster.ServingCertificate(server.Authority(), "berth-ui")
	if err != nil {
		return nil, fmt.Errorf("starting the web page: %w", err)
	}
	address, stopped, err := o.page.serve(page, certificate, clientCA, group.Ctx.Done())
	if err != nil {
		return nil, err
	}
	group.Start("web page", func(context.Context) error {
		<-stopped
		return nil
	})
	return address, nil
}

// frontProxyConfig returns the configuration of a client that names the user of each request in headers.
func frontProxyConfig(cluster *rest.Config, server *apiserver.Server) (*rest.Config, error) {
	files, err := server.Authority().FrontProxy()
	if err != nil {
		return nil, err
	}
	config := rest.AnonymousClientConfig(cluster)
	config.CertFile, config.KeyFile = files.CertFile, files.KeyFile // read again after their renewal
	return config, nil
}
