package main

import (
	"encoding/json"
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/berthproject/berth/apiserver"
)

// versionCommand says what this binary is.
func versionCommand() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Say which Berth this is, and which Kubernetes API it speaks",
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

// version is the release, with the API.
func version() string { return moduleVersion() + ", speaks Kubernetes " + apiserver.KubernetesVersion }

// moduleVersion is what the build knows of itself.
func moduleVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "unreleased"
}
