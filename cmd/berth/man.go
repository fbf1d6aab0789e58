package main

import (
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/berthproject/berth/internal/cli"
)

// manCommand returns `berth man`, which writes manual pages of all commands.
func manCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "man DIR",
		Short: "Write manual pages of all commands to a directory",
		Long: `Writes a manual page in section 1 for each command, such as berth-drain.1. The
directory is created if it does not exist.`,
		Example: `  berth man /usr/local/share/man/man1
  berth man ./man && man ./man/berth-drain.1`,
		Args: cli.ExactlyOneArg("man", "directory", "./man"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return fmt.Errorf("creating the directory of the manual pages: %w", err)
			}
			return writeManualPages(cmd.Root(), args[0])
		},
	}
}

// writeManualPages writes the manual pages of root and its subcommands. Equal builds write
// equal pages: the date is that of the commit.
func writeManualPages(root *cobra.Command, dir string) error {
	v := currentVersion()
	header := &doc.GenManHeader{Section: "1", Source: "Berth " + v.Version, Manual: "Berth"}
	if commitDate, err := time.Parse(time.RFC3339, v.Date); err == nil {
		header.Date = &commitDate
	}
	root.DisableAutoGenTag = true // the tag has the current date
	if err := doc.GenManTree(root, header, dir); err != nil {
		return fmt.Errorf("writing manual pages: %w", err)
	}
	return nil
}
