package main

import (
	"encoding/json"
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/berthproject/berth/apiserver"
)

// versionCommand returns `berth version`.
func versionCommand() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version of Berth and of its Kubernetes API",
		Example: `  berth version
  berth version -o json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := validateOutput(output); err != nil {
				return err
			}
			if output == "json" {
				return printJSON(cmd.OutOrStdout(), func() ([]byte, error) {
					return json.MarshalIndent(struct {
						Version    string `json:"version"`
						Kubernetes string `json:"kubernetes"`
					}{moduleVersion(), apiserver.KubernetesVersion}, "", "  ")
				})
			}
			_, err := fmt.Fprintln(cmd.OutOrStdout(), "berth version", version())
			return err
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "text", "text or json")
	return cmd
}

// version returns the release and the Kubernetes version of the API.
func version() string { return moduleVersion() + ", Kubernetes API " + apiserver.KubernetesVersion }

// moduleVersion returns the module version of the build.
func moduleVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "unreleased"
}
