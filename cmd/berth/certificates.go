package main

import (
	"context"

	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"

	"github.com/berthproject/berth/apiserver"
	"github.com/berthproject/berth/apiserver/auth/pki"
	"github.com/berthproject/berth/controllers/certificates"
	"github.com/berthproject/berth/internal/cli"
)

// runCertificates approves and signs certificate requests. It runs with the API server, which has the
// key of the authority.
func runCertificates(ctx context.Context, server *apiserver.Server) error {
	config := cli.Impersonate(server.LoopbackConfig(), pki.Component("certificates").Name)
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	return certificates.Run(ctx, client, server.Authority(), server.ReservedNames(), klog.Background())
}
