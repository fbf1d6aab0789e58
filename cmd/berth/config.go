package main

import (
	"github.com/spf13/cobra"

	"github.com/berthproject/berth/internal/cli"
	"github.com/berthproject/berth/internal/config"
	"github.com/berthproject/berth/internal/settings"
)

// configCommand returns `berth config`, which prints the effective BerthConfiguration.
func configCommand() *cobra.Command {
	var files []string
	var output cli.Output
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Print every BerthConfiguration option with its value and meaning",
		Long:  "Prints every BerthConfiguration option with its value. YAML has the meaning of\neach option as a comment.",
		Example: `  berth config > berth.yaml
  berth config --config berth.yaml -o json`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			loaded, err := settings.Load(files)
			if err != nil {
				return err
			}
			if output.String() == cli.OutputYAML {
				return config.Print(cmd.OutOrStdout(), loaded.Berth) // with comments
			}
			return output.Print(cmd.OutOrStdout(), cli.Printable{Object: loaded.Berth})
		},
	}
	settings.AddFlag(cmd.Flags(), &files)
	cli.AddOutputFlag(cmd, cmd.Flags(), &output, cli.OutputYAML, cli.OutputJSON)
	return cmd
}
