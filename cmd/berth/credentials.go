package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/berthproject/berth/apiserver/auth/pki"
	"github.com/berthproject/berth/internal/cli"
)

func credentialsCommand() *cobra.Command {
	var dataDir, node, component string
	cmd := &cobra.Command{
		Use:   "credentials",
		Short: "Print a kubeconfig for a node or a component",
		Long: `Prints a kubeconfig with a client certificate, signed by the CA in the data
directory of a cluster on this machine. Each credential has only the permissions
of its node or component.`,
		Example: `  berth credentials --node n7 > n7.kubeconfig
  berth credentials --for scheduler > scheduler.kubeconfig`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			id, err := credentialIdentity(node, component)
			if err != nil {
				return err
			}
			config, err := newKubeconfig(dataDir, id)
			if err != nil {
				return err
			}
			_, err = cmd.OutOrStdout().Write(config)
			return err
		},
	}
	cmd.Flags().StringVar(&dataDir, "data-dir", cli.DefaultDataDir(), "data directory of the cluster")
	cmd.Flags().StringVar(&node, "node", "", "name of the node")
	cmd.Flags().StringVar(&component, "for", "", "scheduler, controller, descheduler, simulated-nodes or admin")
	return cmd
}

func credentialIdentity(node, component string) (pki.Identity, error) {
	switch {
	case (node == "") == (component == ""):
		return pki.Identity{}, errors.New("--node, --for: set exactly one of them; --for is scheduler, controller, descheduler, simulated-nodes or admin")
	case node != "":
		if problems := validation.IsDNS1123Subdomain(node); len(problems) > 0 {
			return pki.Identity{}, fmt.Errorf("--node %q: %s", node, problems[0])
		}
		return pki.Node(node), nil
	case component == "scheduler":
		return pki.Scheduler(), nil
	case component == "controller":
		return pki.ControllerManager(), nil
	case component == "descheduler":
		return pki.Component(component), nil
	case component == "simulated-nodes":
		return pki.SimulatedNodes(), nil
	case component == "admin":
		return pki.Admin(), nil
	}
	return pki.Identity{}, fmt.Errorf("--for %q: must be scheduler, controller, descheduler, simulated-nodes or admin", component)
}

// newKubeconfig returns a kubeconfig for id with the server address of the admin
// kubeconfig.
func newKubeconfig(dataDir string, id pki.Identity) ([]byte, error) {
	admin, err := clientcmd.LoadFromFile(cli.KubeconfigPath(dataDir))
	if err != nil {
		return nil, fmt.Errorf("--data-dir %s: no cluster was started there: %w", dataDir, err)
	}
	cluster := &clientcmdapi.Cluster{}
	for _, c := range admin.Clusters {
		cluster = c
	}
	authority, err := pki.OpenExisting(filepath.Join(dataDir, "pki"))
	switch {
	case err == nil && !authority.Owns(cluster.CertificateAuthorityData), errors.Is(err, os.ErrNotExist):
		return nil, fmt.Errorf("--data-dir %s: the directory does not have the CA of the cluster at %s: `berth up --ephemeral` keeps it elsewhere; start the cluster without --ephemeral", dataDir, cluster.Server)
	case err != nil:
		return nil, err
	}
	dir, err := os.MkdirTemp("", "berth-credentials-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	file := cli.KubeconfigPath(dir)
	if err := authority.Kubeconfig(file, cluster.Server, id); err != nil {
		return nil, err
	}
	return os.ReadFile(file)
}
