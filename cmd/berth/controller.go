package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/berthproject/berth/control/volume/directory"
)

// controllerCommand runs the controllers alone.
func controllerCommand() *cobra.Command {
	var kubeconfig, volumes, records string
	var configs []string
	cmd := &cobra.Command{
		Use:   "controller",
		Short: "Run the controllers against Berth's API server: node taints, namespaces, service accounts, volumes",
		Long: `Runs the loops that a Berth API server needs beside it: taints that follow node
conditions, the emptying of deleted namespaces, service accounts of new ones, the
binding of volumes and claims. A Kubernetes cluster has its own; there they are
refused. Run one copy. With --volume-directory it also makes directories of this
machine for claims whose class has the provisioner ` + directory.Name + `.`,
		Example: `  berth credentials --for controller > controller.kubeconfig
  berth controller --kubeconfig controller.kubeconfig`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			settings, err := loadConfig(configs)
			if err != nil {
				return err
			}
			config, err := clientConfig(kubeconfig, "berth-controller")
			if err != nil {
				return err
			}
			if err := ours(config); err != nil {
				return err
			}
			if err := need(cmd.Context(), config, authorizationv1.ResourceAttributes{Verb: "list", Resource: "namespaces"},
				"berth credentials --for controller makes one that may"); err != nil {
				return err
			}
			if settings.journal, err = openJournal(records, "controller"); err != nil {
				return err
			}
			defer func() { _ = settings.journal.Close() }()
			logToStderr()
			return runParts(cmd.Context(), func(p *parts) error {
				fmt.Fprintf(cmd.OutOrStdout(), "controllers at %s: node taints, namespaces, service accounts, volumes; Ctrl-C stops\n", config.Host)
				if err := rest.LoadTLSFiles(config); err != nil {
					return err
				}
				if volumes != "" {
					if err := startProvisioner(p, config, volumes); err != nil {
						return err
					}
				}
				return startControllers(p, config, config.CAData, settings)
			})
		},
	}
	cmd.Flags().StringVar(&volumes, "volume-directory", "", "make directories below this one for claims of "+directory.Name+"; without it nothing serves them")
	configFlag(cmd.Flags(), &configs)
	journalFlag(cmd.Flags(), &records, "events alone have them")
	cmd.Flags().StringVar(&kubeconfig, "kubeconfig", "", "kubeconfig of the controllers' credential; without it the default cluster's")
	return cmd
}

// ours refuses an API server that has controllers of its own.
func ours(config *rest.Config) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	v, err := client.Discovery().ServerVersion()
	if err != nil {
		return err
	}
	if !strings.Contains(v.GitVersion, "berth") {
		return errors.New("the API server at " + config.Host + " is not Berth's (version " + v.GitVersion + "): it has controllers of its own")
	}
	return nil
}
