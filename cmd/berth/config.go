package main

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/berthproject/berth/internal/config"
	"github.com/berthproject/berth/internal/settings"
)

// configCommand returns `berth config`, which prints the effective BerthConfiguration.
func configCommand() *cobra.Command {
	var files []string
	var output string
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Print every BerthConfiguration option with its value and meaning",
		Example: `  berth config > berth.yaml
  berth config --config berth.yaml -o json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			settings, err := settings.Load(files)
			if err != nil {
				return err
			}
			switch output {
			case "yaml":
				return config.Print(cmd.OutOrStdout(), settings.Berth)
			case "json":
				enc := json.NewEncoder(cmd.OutOrStdout())
				enc.SetIndent("", "  ")
				return enc.Encode(settings.Berth)
			}
			return fmt.Errorf("-o %q: must be yaml or json", output)
		},
	}
	settings.AddFlag(cmd.Flags(), &files)
	cmd.Flags().StringVarP(&output, "output", "o", "yaml", "output format: yaml (with comments) or json")
	return cmd
}
