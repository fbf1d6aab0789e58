package main

import (
	"github.com/spf13/cobra"

	"github.com/berthproject/berth/internal/cli"
	"github.com/berthproject/berth/internal/config"
)

func deschedulerConvertCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "convert FILE",
		Short: "Convert a DeschedulerPolicy to descheduler/v1alpha2",
		Long: `Reads a DeschedulerPolicy, descheduler/v1alpha1 (with strategies) or v1alpha2,
and prints it as descheduler/v1alpha2, which the current Kubernetes descheduler
reads. It prints a warning for each converted field.`,
		Example: `  berth descheduler convert old-policy.yaml > policy.yaml`,
		Args:    cli.ExactlyOneArg("descheduler convert", "policy file", "old-policy.yaml"),
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := config.DeschedulerDocument(args[0])
			if err != nil {
				return err
			}
			yaml, warnings, err := config.ConvertDescheduler(d)
			if err != nil {
				return err
			}
			printWarnings(cmd.ErrOrStderr(), warnings...)
			_, err = cmd.OutOrStdout().Write(yaml)
			return err
		},
	}
}
