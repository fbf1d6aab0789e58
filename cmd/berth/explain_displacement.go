package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/berthproject/berth/explain"
	"github.com/berthproject/berth/internal/cli"
)

// explainDisplacementCommand answers why a pod had to go.
func explainDisplacementCommand() *cobra.Command {
	var source recordSource
	var output string
	cmd := &cobra.Command{
		Use:   "displacement NAMESPACE/NAME",
		Short: "Say why a pod had to leave its node, what that took from budgets, and what replaced it",
		Long: `Says who displaced a pod and why, with the rule and its numbers, what disruption budgets
allowed before and after, which grace it had, which pod came for it, where that went, and
how long it took. The pod need not be there any more: its record is in an event, which lasts an
hour, and in a journal, which lasts (--journal; that of the data directory that the kubeconfig
is in is read by itself).
Exits with 1 when nothing is known of a displacement.`,
		Example: `  berth explain displacement web-5c9b7-x2x7z
  berth explain displacement shop/web-0 -o json
  berth explain displacement shop/web-0 --journal /var/lib/berth/journal`,
		Args: cli.OnePodArg("explain displacement"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := validateOutput(output); err != nil {
				return err
			}
			namespace, name := cli.SplitPodName(args[0])
			list, err := source.read(cmd.Context(), cmd.ErrOrStderr(), namespace, name)
			if err != nil {
				return err
			}
			if len(list) == 0 {
				return fmt.Errorf("pod %s/%s: nothing is known of a displacement: it has none that its condition, an event of the last hour or a journal tells of (name it NAMESPACE/NAME; berth evictions -A lists all)", namespace, name)
			}
			if output == "json" {
				return printJSON(cmd.OutOrStdout(), func() ([]byte, error) { return explain.EvictionsJSON(list) })
			}
			return explain.DisplacementText(cmd.OutOrStdout(), list[0], len(list)-1, time.Now())
		},
	}
	source.addFlags(cmd.Flags())
	cmd.Flags().StringVarP(&output, "output", "o", "text", "text or json")
	return cmd
}
