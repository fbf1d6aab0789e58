package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/client-go/rest"

	"github.com/berthproject/berth/agent/renewal"
	"github.com/berthproject/berth/controllers/certificates"
	"github.com/berthproject/berth/internal/cli"
)

// componentConfig returns the client configuration of a component that runs in its own process. If the credential is a
// client certificate of `berth credentials`, it is renewed until ctx is done. The renewed one is stored in the state
// directory of the systemd unit or in KUBECONFIG.certificates.
func componentConfig(ctx context.Context, kubeconfig, name string) (*rest.Config, *renewal.Renewal, error) {
	config, err := cli.ClientConfig(kubeconfig, name)
	if err != nil {
		return nil, nil, err
	}
	return renewedConfig(ctx, config, kubeconfig, name)
}

// renewedConfig returns a client configuration whose credential is renewed as componentConfig describes.
func renewedConfig(ctx context.Context, config *rest.Config, kubeconfig, name string) (*rest.Config, *renewal.Renewal, error) {
	o := renewal.ComponentOptions{Config: config, Name: name, Dir: certificateDir(kubeconfig), ServingSigner: certificates.SimulatedNodesSigner, MayRenew: certificates.IsComponent}
	r, config, err := renewal.NewComponent(ctx, o)
	if err != nil {
		return nil, nil, err
	}
	r.Start(ctx)
	return config, r, nil
}

// certificateDir returns the directory of a component's renewed certificate. It is in the state directory of the systemd
// unit, else next to the kubeconfig that --kubeconfig or KUBECONFIG names. It is empty if neither names a file.
func certificateDir(kubeconfig string) string {
	if state, _, _ := strings.Cut(os.Getenv("STATE_DIRECTORY"), ":"); state != "" {
		return filepath.Join(state, "certificates")
	}
	if kubeconfig == "" {
		kubeconfig = cli.KubeconfigFromEnv()
	}
	if kubeconfig == "" {
		return ""
	}
	return kubeconfig + ".certificates"
}
