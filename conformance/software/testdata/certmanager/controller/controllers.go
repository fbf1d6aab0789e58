package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"

	"golang.org/x/sync/errgroup"

	"github.com/cert-manager/cert-manager/pkg/controller"

	// The controllers that are enabled by default, and the issuers, except those for Venafi.
	_ "github.com/cert-manager/cert-manager/pkg/controller/acmechallenges"
	_ "github.com/cert-manager/cert-manager/pkg/controller/acmeorders"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificate-shim/ingresses"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/acme"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/approver"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/ca"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/selfsigned"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/vault"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/issuing"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/keymanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/metrics"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/readiness"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/requestmanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/revisionmanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/trigger"
	_ "github.com/cert-manager/cert-manager/pkg/controller/clusterissuers"
	_ "github.com/cert-manager/cert-manager/pkg/controller/issuers"
	_ "github.com/cert-manager/cert-manager/pkg/issuer/acme"
	_ "github.com/cert-manager/cert-manager/pkg/issuer/ca"
	_ "github.com/cert-manager/cert-manager/pkg/issuer/selfsigned"
	_ "github.com/cert-manager/cert-manager/pkg/issuer/vault"
)

// runControllers runs all registered controllers and serves their metrics until one fails or the context ends.
func runControllers(ctx context.Context, factory *controller.ContextFactory, root *controller.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	for name, construct := range controller.Known() {
		c, err := construct(factory)
		if err != nil {
			return fmt.Errorf("constructing the controller %s: %w", name, err)
		}
		group.Go(func() error {
			if err := c.Run(workers, ctx); err != nil {
				return fmt.Errorf("running the controller %s: %w", name, err)
			}
			return nil
		})
	}
	objects := root.SharedInformerFactory
	root.Metrics.SetupCertificateCollector(objects.Certmanager().V1().Certificates().Lister())
	root.Metrics.SetupIssuerCollector(objects.Certmanager().V1().Issuers().Lister())
	root.Metrics.SetupClusterIssuerCollector(objects.Certmanager().V1().ClusterIssuers().Lister())
	root.Metrics.SetupACMECollector(objects.Acme().V1().Challenges().Lister())
	group.Go(func() error { return serveMetrics(ctx, root) })
	// The controllers and the metrics have requested their informers.
	objects.Start(ctx.Done())
	root.KubeSharedInformerFactory.Start(ctx.Done())
	root.HTTP01ResourceMetadataInformersFactory.Start(ctx.Done())
	return group.Wait()
}

// serveMetrics serves metrics until the context ends.
func serveMetrics(ctx context.Context, root *controller.Context) error {
	listener, err := net.Listen("tcp", metricsAddress)
	if err != nil {
		return err
	}
	server := root.Metrics.NewServer(listener)
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
