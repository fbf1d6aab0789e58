package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/berthproject/berth/apiserver/store"
	"github.com/berthproject/berth/internal/cli"
)

func serverCheckCommand() *cobra.Command {
	var output cli.Output
	cmd := &cobra.Command{
		Use:   "check DIR",
		Short: "Check the store of a data directory for damage",
		Long: `Reads every page of the embedded etcd's database, every record of its log and
its snapshots, and changes nothing. The server must not run.

Exits with 1 if a part is damaged.`,
		Example: `  berth server check ./data
  berth server check ./data -o json`,
		Args: cli.ExactlyOneArg("server check", "data directory", "./data"),
		RunE: func(cmd *cobra.Command, args []string) error {
			result, err := store.Check(args[0])
			if err != nil {
				return err
			}
			err = output.Print(cmd.OutOrStdout(), cli.Printable{Object: result, Text: func(w io.Writer, _ bool) error {
				for _, p := range result.Parts {
					state := "intact"
					if p.Error != "" {
						state = p.Error
					}
					fmt.Fprintf(w, "%-9s %8d KiB  %s\n", p.Part, p.Bytes>>10, state)
				}
				return nil
			}})
			if err == nil && !result.Intact {
				err = fmt.Errorf("the store in %[1]s is damaged: move %[1]s/etcd away and restore a snapshot with `berth snapshot restore FILE --data-dir %[1]s`", args[0])
			}
			return err
		},
	}
	cli.AddOutputFlag(cmd, cmd.Flags(), &output)
	return cmd
}
