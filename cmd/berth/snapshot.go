package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"k8s.io/client-go/kubernetes"

	"github.com/berthproject/berth/apiserver"
	"github.com/berthproject/berth/apiserver/store"
	"github.com/berthproject/berth/internal/cli"
)

func snapshotCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "snapshot",
		Short: "Save, restore and check snapshots of the store",
		Long: `Saves the objects of a cluster to a file, and creates the store of a data
directory from one. The files have etcd's format: etcdctl and etcdutl read and
write them, too. They do not contain the certificate authority (DATA-DIR/pki).
Without it service account tokens and client certificates become invalid.`,
		Example: `  berth snapshot save backup.db
  berth snapshot restore backup.db --data-dir ./data
  berth snapshot status backup.db -o json`,
	}
	cmd.AddCommand(snapshotSaveCommand(), snapshotRestoreCommand(), snapshotStatusCommand())
	return cmd
}

func snapshotSaveCommand() *cobra.Command {
	var cluster cli.Cluster
	var dataDir string
	var output cli.Output
	cmd := &cobra.Command{
		Use:   "save FILE",
		Short: "Save a snapshot of a running or stopped server",
		Long: `Saves a snapshot of the running server of the kubeconfig, or with --data-dir of
a server that does not run, and verifies it. FILE appears when it is complete.
The user must be in group system:masters, or have a role with the verb get for
the non-resource URL ` + apiserver.SnapshotPath + `.`,
		Example: `  berth snapshot save backup.db
  berth snapshot save backup.db --data-dir ./data`,
		Args: cli.ExactlyOneArg("snapshot save", "file", "backup.db"),
		RunE: func(cmd *cobra.Command, args []string) error {
			reader, err := openSnapshot(cmd.Context(), &cluster, dataDir)
			if err != nil {
				return err
			}
			status, err := store.SaveSnapshot(reader, args[0])
			if err := errors.Join(err, reader.Close()); err != nil {
				return err
			}
			return printSnapshot(cmd.OutOrStdout(), &output, "Saved "+args[0], status)
		},
	}
	cluster.AddFlags(cmd.Flags())
	cmd.Flags().StringVar(&dataDir, "data-dir", "", "data directory of a server that does not run, instead of a kubeconfig")
	cmd.MarkFlagsMutuallyExclusive("kubeconfig", "data-dir")
	cli.AddOutputFlag(cmd, cmd.Flags(), &output)
	return cmd
}

// openSnapshot returns a snapshot of the store in dataDir or, if that is empty, of a running server.
func openSnapshot(ctx context.Context, cluster *cli.Cluster, dataDir string) (io.ReadCloser, error) {
	if dataDir != "" {
		return store.OpenSnapshot(ctx, dataDir)
	}
	config, err := cluster.Config("berth-snapshot")
	if err != nil {
		return nil, err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	reader, err := client.Discovery().RESTClient().Get().AbsPath(apiserver.SnapshotPath).Stream(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading a snapshot from %s: %w", config.Host, err)
	}
	return reader, nil
}

func snapshotRestoreCommand() *cobra.Command {
	var dataDir string
	var output cli.Output
	cmd := &cobra.Command{
		Use:   "restore FILE",
		Short: "Create the store of a data directory from a snapshot",
		Long: `Verifies a snapshot and creates the embedded etcd of a data directory from it.
The directory must not have a store. The store appears when it is complete, so
you can repeat a restore that was interrupted. Resource versions continue far
above those of the snapshot, so that clients list again.`,
		Example: `  berth snapshot restore backup.db --data-dir ./data`,
		Args:    cli.ExactlyOneArg("snapshot restore", "file", "backup.db"),
		RunE: func(cmd *cobra.Command, args []string) error {
			status, err := store.RestoreSnapshot(args[0], dataDir)
			if err != nil {
				return err
			}
			return printSnapshot(cmd.OutOrStdout(), &output, "Restored "+args[0]+" to "+dataDir, status)
		},
	}
	cmd.Flags().StringVar(&dataDir, "data-dir", cli.DefaultDataDir(), "data directory of the server")
	cli.AddOutputFlag(cmd, cmd.Flags(), &output)
	return cmd
}

func snapshotStatusCommand() *cobra.Command {
	var output cli.Output
	cmd := &cobra.Command{
		Use:     "status FILE",
		Short:   "Verify a snapshot and print what it contains",
		Example: `  berth snapshot status backup.db -o json`,
		Args:    cli.ExactlyOneArg("snapshot status", "file", "backup.db"),
		RunE: func(cmd *cobra.Command, args []string) error {
			status, err := store.VerifySnapshot(args[0])
			if err != nil {
				return err
			}
			return printSnapshot(cmd.OutOrStdout(), &output, args[0], status)
		},
	}
	cli.AddOutputFlag(cmd, cmd.Flags(), &output)
	return cmd
}

func printSnapshot(w io.Writer, output *cli.Output, title string, status store.SnapshotStatus) error {
	return output.Print(w, cli.Printable{Object: status, Text: func(w io.Writer, _ bool) error {
		fmt.Fprintf(w, "%s: revision %d, %d keys, %d KiB, hash %08x\n", title, status.Revision, status.TotalKey, status.TotalSize>>10, status.Hash)
		return nil
	}})
}
