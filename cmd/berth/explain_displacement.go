package main

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/berthproject/berth/explain"
	"github.com/berthproject/berth/internal/cli"
)

func explainDisplacementCommand() *cobra.Command {
	var source recordSource
	var output cli.Output
	var namespace string
	cmd := &cobra.Command{
		Use:     "displacement NAME",
		Aliases: []string{"displacements"},
		Short:   "Explain why a pod was displaced and what replaced it",
		Long: `Reports which component displaced a pod and why, with the rule and its numbers.
It also reports the disruption budgets before and after, the grace period, the
replacement, its node, and how long that took. The pod may be deleted: its
record is in an event, which the API server keeps for an hour, and in the
journal (--journal). The journal next to the kubeconfig is read by default.

Exits with 1 if there is no record of a displacement.`,
		Example: `  berth explain displacement web-5c9b7-x2x7z
  berth explain displacement web-0 -n shop -o json
  berth explain displacement shop/web-0 --journal /var/lib/berth/journal`,
		Args: cli.OnePodArg("explain displacement"),
		RunE: func(cmd *cobra.Command, args []string) error {
			namespace, name, err := cli.PodName(args[0], namespace, source.Namespace)
			if err != nil {
				return err
			}
			list, err := source.read(cmd.Context(), cmd.ErrOrStderr(), namespace, name)
			if err != nil {
				return err
			}
			if len(list) == 0 {
				return fmt.Errorf("pod %s/%s: no displacement found in its conditions, in events of the last hour or in a journal (`berth evictions -A` lists all)", namespace, name)
			}
			return output.Print(cmd.OutOrStdout(), cli.Printable{
				Object: cli.JSONText(func() ([]byte, error) { return explain.EvictionsJSON(list) }),
				Text:   func(w io.Writer, _ bool) error { return explain.DisplacementText(w, list[0], len(list)-1, time.Now()) },
			})
		},
	}
	source.addFlags(cmd.Flags())
	addNamespaceFlag(cmd.Flags(), &namespace)
	cli.AddOutputFlag(cmd, cmd.Flags(), &output)
	return cmd
}
