//go:build linux

package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/klog/v2"

	"github.com/berthproject/berth/agent/nodeagent"
	"github.com/berthproject/berth/agent/runtime/embedded"
	"github.com/berthproject/berth/agent/runtime/embedded/criserver"
	"github.com/berthproject/berth/internal/cli"
)

type runtimeFlags struct {
	nodeagent.Standalone
	socket    string
	ephemeral bool
}

func runtimeCommand() *cobra.Command {
	var f runtimeFlags
	cmd := &cobra.Command{
		Use:   "runtime --dir DIR",
		Short: "Serve the embedded runtime through CRI, for tests and crictl",
		Args:  cli.NoArgs,
		Long: `Serves the Container Runtime Interface (CRI v1) of the embedded runtime on a
unix socket, without a node agent: for crictl and critest. The command and its
socket require root.

Containers keep running when the command ends, and it adopts them when it starts
again with the same directory. Pull images through CRI, or with
"berth image --root-dir DIR".

Requests that the runtime refuses for containment, such as privileged
containers, fail with an error that names the field.`,
		Example: `  berth runtime --dir /var/lib/berth/runtime
  crictl -r unix:///var/lib/berth/runtime/cri.sock ps`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.complete(); err != nil {
				return err
			}
			logToStderr()
			return f.serve(cmd.Context(), func(podCIDR string) {
				cli.Printf(cmd.OutOrStdout(), "Serving CRI at unix://%s, pod network %s. Press Ctrl-C to stop.\n", f.socket, podCIDR)
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.Root, "dir", "", "directory of images, containers and their writable layers; required")
	flags.StringVar(&f.socket, "socket", "", "path of the socket (default: cri.sock in --dir)")
	flags.StringVar(&f.PodCIDR, "pod-cidr", "", "network of the pods, as `CIDR` (default: one that is unused on this machine)")
	flags.BoolVar(&f.ephemeral, "ephemeral", false, "remove all pods, containers and their network when the command ends")
	insecureRegistryFlag(flags, &f.InsecureRegistries)
	return cmd
}

// complete validates the flags and sets defaults.
func (f *runtimeFlags) complete() (err error) {
	if f.Root == "" {
		return errors.New("--dir: must be set, for example to /var/lib/berth/runtime")
	}
	if err := validateInsecureRegistries(f.InsecureRegistries); err != nil {
		return err
	}
	if os.Geteuid() != 0 {
		return errors.New("running containers requires root: run this command as root")
	}
	if f.Root, err = filepath.Abs(f.Root); err != nil {
		return err
	}
	if f.socket == "" {
		f.socket = filepath.Join(f.Root, "cri.sock")
	}
	f.socket, err = filepath.Abs(f.socket)
	return err
}

// removeTimeout bounds the removal of an ephemeral runtime.
const removeTimeout = 2 * time.Minute

// serve calls ready and serves CRI until ctx ends.
func (f *runtimeFlags) serve(ctx context.Context, ready func(podCIDR string)) (err error) {
	f.Log = klog.Background()
	r, err := f.Open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.close(r)) }()
	ready(f.PodCIDR)
	return criserver.New(r).Serve(ctx, f.socket)
}

// close closes the runtime, and removes an ephemeral one.
func (f *runtimeFlags) close(r *embedded.Runtime) error {
	if !f.ephemeral {
		return r.Close()
	}
	ctx, cancel := context.WithTimeout(context.Background(), removeTimeout)
	defer cancel()
	return r.Destroy(ctx)
}
