//go:build linux

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/berthproject/berth/agent/image/store"
	"github.com/berthproject/berth/agent/nodeagent"
	"github.com/berthproject/berth/internal/cli"
)

// imageFlags holds the common flags of `berth image`.
type imageFlags struct {
	rootDir, storeDir  string
	output             cli.Output
	insecureRegistries []string
}

func imageCommand() *cobra.Command {
	var f imageFlags
	cmd := &cobra.Command{
		Use:   "image",
		Short: "Pull, load, list and remove images of the embedded runtime",
		Long: `Manages the images of a node that uses the embedded runtime. It requires root
and works whether the agent runs or not. A node that uses containerd has its
images there (ctr -n k8s.io images).

Each image is unpacked into its own directory. Images that try to escape from
it, or have device files outside of /dev, are refused. An image may have up to
32 GiB unpacked, 500,000 entries and 120 layers.`,
		Example: `  berth image pull busybox:1
  docker save app:v2 | berth image load -
  berth image ls`,
	}
	flags := cmd.PersistentFlags()
	flags.StringVar(&f.rootDir, "root-dir", "", "directory of the node's agent (default: "+nodeagent.DefaultRoot+" or that of berth up --real-node, whichever has images)")
	flags.StringVar(&f.storeDir, "store", "", "image directory (default: images in --root-dir)")
	cli.AddOutputFlag(cmd, flags, &f.output, cli.OutputText, cli.OutputWide, cli.OutputJSON, cli.OutputYAML)
	cmd.AddCommand(f.pullCommand(), f.loadCommand(), f.listCommand(), f.removeCommand())
	return cmd
}

func (f *imageFlags) pullCommand() *cobra.Command {
	var user string
	var passwordStdin bool
	cmd := &cobra.Command{
		Use: "pull NAME...", Short: "Pull images from their registries", Args: cli.AtLeastOneArg("image pull", "image", "busybox:1"),
		Long: `Pulls images from their registries, for this machine's platform. Plain HTTP is
used only for registries of --insecure-registry.`,
		Example: `  berth image pull busybox:1
  berth image pull --username ann --password-stdin \
    registry.example.org/team/app:v2 < password`,
		RunE: func(cmd *cobra.Command, names []string) error {
			auth, err := registryAuth(cmd.InOrStdin(), user, passwordStdin)
			if err != nil {
				return err
			}
			s, err := f.openStore(cmd.ErrOrStderr(), true)
			if err != nil {
				return err
			}
			var pulled []store.Image
			for _, name := range names {
				p := newPullProgress(cmd.ErrOrStderr())
				image, err := s.Pull(cmd.Context(), name, auth, p.update)
				p.done()
				if err != nil {
					return errors.New(err.Error()) // drops the wrapped ECONNREFUSED, whose hint is about the cluster
				}
				pulled = append(pulled, image)
			}
			return f.printImages(cmd.OutOrStdout(), pulled)
		},
	}
	cmd.Flags().StringVar(&user, "username", "", "registry user")
	cmd.Flags().BoolVar(&passwordStdin, "password-stdin", false, "read the password from standard input")
	insecureRegistryFlag(cmd.Flags(), &f.insecureRegistries)
	return cmd
}

// registryAuth returns the user with the password read from in, or nil if neither flag is set.
func registryAuth(in io.Reader, user string, passwordStdin bool) (*store.Auth, error) {
	if !passwordStdin && user == "" {
		return nil, nil
	}
	if !passwordStdin || user == "" {
		return nil, errors.New("--username and --password-stdin: use both or neither")
	}
	data, err := io.ReadAll(io.LimitReader(in, 64<<10))
	if err != nil {
		return nil, err
	}
	return &store.Auth{Username: user, Password: strings.TrimRight(string(data), "\r\n")}, nil
}

func (f *imageFlags) loadCommand() *cobra.Command {
	var name string
	cmd := &cobra.Command{
		Use: "load FILE", Short: "Load images from a tar file", Args: cli.ExactlyOneArg("image load", "tar file", "app.tar"),
		Long: `Loads the images of a tar file made by "docker save" or with an OCI layout,
compressed or not. Use - for standard input.`,
		Example: `  docker save app:v2 | berth image load -
  berth image load app.tar --name app:v2`,
		RunE: func(cmd *cobra.Command, args []string) error {
			input := cmd.InOrStdin()
			if args[0] != "-" {
				file, err := os.Open(args[0])
				if err != nil {
					return fmt.Errorf("loading images: %w", err)
				}
				defer file.Close()
				input = file
			}
			s, err := f.openStore(cmd.ErrOrStderr(), true)
			if err != nil {
				return err
			}
			p := newPullProgress(cmd.ErrOrStderr())
			images, err := s.Load(cmd.Context(), input, name, p.update)
			p.done()
			if err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			return f.printImages(cmd.OutOrStdout(), images)
		},
	}
	cmd.Flags().StringVar(&name, "name", "", "name for an image without a name in the file")
	return cmd
}

func (f *imageFlags) listCommand() *cobra.Command {
	return &cobra.Command{
		Use: "ls", Aliases: []string{"list"}, Short: "List images", Args: cli.NoArgs,
		Long: `Lists images with their disk usage. A layer shared by several images counts for
each of them, and once in the total. A built-in image is made from the berth
binary whenever an agent starts.`,
		Example: `  berth image ls
  berth image ls --root-dir /var/lib/berth/agent -o json`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := f.openStore(cmd.ErrOrStderr(), false)
			if err != nil {
				return err
			}
			images, err := s.List()
			if err != nil {
				return err
			}
			if err := f.printImages(cmd.OutOrStdout(), images); err != nil || !f.output.IsText() {
				return err
			}
			u, err := s.Usage()
			if err == nil {
				fmt.Fprintf(cmd.OutOrStdout(), "%d image(s) use %s in %d files\n", len(images), formatBytes(u.Bytes), u.Inodes)
			}
			return err
		},
	}
}

func (f *imageFlags) removeCommand() *cobra.Command {
	return &cobra.Command{
		Use: "rm NAME...", Aliases: []string{"remove"}, Short: "Remove images, by name or ID", Args: cli.AtLeastOneArg("image rm", "image", "app:v2"),
		Long: `Removes image names. An image is removed when its last name is removed. An ID
or a name with a digest removes the image with all its names. Layers that a
container uses are removed with the container.`,
		Example: `  berth image rm app:v1
  berth image rm registry.example.org/app:v1 registry.example.org/app:v2`,
		RunE: func(cmd *cobra.Command, names []string) error {
			s, err := f.openStore(cmd.ErrOrStderr(), false)
			if err != nil {
				return err
			}
			for _, name := range names {
				if image, err := s.Resolve(name); err == nil && image.Builtin {
					return fmt.Errorf("%s is built in: pods of the node need it, and it is only recreated when the agent restarts", name)
				}
				if err := s.Remove(name); err != nil {
					return err
				}
				if f.output.IsText() {
					fmt.Fprintf(cmd.OutOrStdout(), "%s removed\n", name)
				}
			}
			return nil
		},
	}
}

// openStore opens the image store. If create is set, it creates a missing one.
func (f *imageFlags) openStore(notes io.Writer, create bool) (*store.Store, error) {
	if err := validateInsecureRegistries(f.insecureRegistries); err != nil {
		return nil, err
	}
	if os.Geteuid() != 0 {
		return nil, errors.New("images belong to root: run this command as root")
	}
	dir := f.storeDir
	switch {
	case dir != "":
	case f.rootDir != "":
		dir = imagesDir(f.rootDir)
	default:
		dir = defaultImagesDir(notes, nodeagent.DefaultRoot, filepath.Join(cli.DefaultDataDir(), "agent"))
	}
	if !hasImages(dir) && !create {
		return nil, fmt.Errorf("%s: no images found: --root-dir must be the directory of an agent that uses the embedded runtime, and --store an image directory", dir)
	}
	return store.Open(dir, store.Options{InsecureRegistries: f.insecureRegistries})
}

// defaultImagesDir returns the image directory of `berth agent` or of `berth up
// --real-node`. If both or neither have images, it prints its choice.
func defaultImagesDir(notes io.Writer, agentDir, upDir string) string {
	agentHas, upHas := hasImages(imagesDir(agentDir)), hasImages(imagesDir(upDir))
	if upHas && !agentHas {
		return imagesDir(upDir)
	}
	if agentHas == upHas {
		cli.Printf(notes, "berth: using the images of berth agent in %s; for those of berth up --real-node use --root-dir %s\n", imagesDir(agentDir), upDir)
	}
	return imagesDir(agentDir)
}

// imagesDir returns the image directory of an agent.
func imagesDir(root string) string { return filepath.Join(root, "images") }

func hasImages(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "oci-layout"))
	return err == nil
}
