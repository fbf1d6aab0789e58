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

// imageFlags say which images.
type imageFlags struct {
	rootDir, storeDir string
	output            string
}

// imageCommand looks after the images of the embedded runtime.
func imageCommand() *cobra.Command {
	var f imageFlags
	cmd := &cobra.Command{
		Use:   "image",
		Short: "Bring, list and remove the images of the embedded runtime",
		Long: `Works on the images of a node of the embedded runtime: on this machine and as root, whether
its agent runs or not. A node that uses containerd has its images there (ctr -n k8s.io images).
Images are unpacked where they cannot do harm: one that tries to is refused, or has no device files.
How large one may be: 32 GiB and 500,000 files.`,
		Example: `  berth image pull busybox:1
  docker save app:v2 | berth image load -
  berth image ls`,
	}
	flags := cmd.PersistentFlags()
	flags.StringVar(&f.rootDir, "root-dir", "", "directory of the node's agent, which has its images in images; without it "+nodeagent.DefaultRoot+", berth agent's, or that of berth up --real-node, whichever has images")
	flags.StringVar(&f.storeDir, "store", "", "directory of the images, if they are elsewhere")
	flags.StringVarP(&f.output, "output", "o", "text", "text or json")
	cmd.AddCommand(f.pullCommand(), f.loadCommand(), f.listCommand(), f.removeCommand())
	return cmd
}

func (f *imageFlags) pullCommand() *cobra.Command {
	var user string
	var password bool
	cmd := &cobra.Command{
		Use: "pull NAME...", Short: "Bring images from their registries", Args: cli.AtLeastOneArg("image pull", "image", "busybox:1"),
		Long: `Brings images from their registries, that for this machine where there are several. A registry is asked
over plain HTTP only if it is on this machine.`,
		Example: `  berth image pull busybox:1
  berth image pull --username ann --password-stdin registry.example.org/team/app:v2 < password`,
		RunE: func(cmd *cobra.Command, names []string) error {
			auth, err := registryAuth(cmd.InOrStdin(), user, password)
			if err != nil {
				return err
			}
			s, err := f.openStore(cmd.ErrOrStderr(), true)
			if err != nil {
				return err
			}
			var all []store.Image
			for _, name := range names {
				p := newPullProgress(cmd.ErrOrStderr())
				image, err := s.Pull(cmd.Context(), name, auth, p.update)
				p.done()
				if err != nil {
					return errors.New(err.Error()) // of a registry that nobody listens at: no hint at a cluster
				}
				all = append(all, image)
			}
			return f.printImages(cmd.OutOrStdout(), all)
		},
	}
	cmd.Flags().StringVar(&user, "username", "", "user that the registry knows")
	cmd.Flags().BoolVar(&password, "password-stdin", false, "read the password from standard input")
	return cmd
}

// registryAuth is what the registry is told, nil without any.
func registryAuth(in io.Reader, user string, password bool) (*store.Auth, error) {
	if !password && user == "" {
		return nil, nil
	}
	if !password || user == "" {
		return nil, errors.New("--username and --password-stdin: want both, or none of them")
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
		Use: "load FILE", Short: "Bring the images of a tar file", Args: cli.ExactlyOneArg("image load", "tar file", "app.tar"),
		Long: `Brings the images of a tar file of "docker save" or with an OCI layout, packed or not; - is standard input.`,
		Example: `  docker save app:v2 | berth image load -
  berth image load app.tar --name app:v2`,
		RunE: func(cmd *cobra.Command, args []string) error {
			in := cmd.InOrStdin()
			if args[0] != "-" {
				file, err := os.Open(args[0])
				if err != nil {
					return err
				}
				defer file.Close()
				in = file
			}
			s, err := f.openStore(cmd.ErrOrStderr(), true)
			if err != nil {
				return err
			}
			p := newPullProgress(cmd.ErrOrStderr())
			images, err := s.Load(cmd.Context(), in, name, p.update)
			p.done()
			if err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			return f.printImages(cmd.OutOrStdout(), images)
		},
	}
	cmd.Flags().StringVar(&name, "name", "", "name for an image that has none in the file")
	return cmd
}

func (f *imageFlags) listCommand() *cobra.Command {
	return &cobra.Command{
		Use: "ls", Aliases: []string{"list"}, Short: "List images", Args: cobra.NoArgs,
		Long: `Lists images with what they hold on the disk; a layer that several have is counted for each, and once in the sum.
A built-in image is made from berth itself, and made again when an agent starts.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := f.openStore(cmd.ErrOrStderr(), false)
			if err != nil {
				return err
			}
			images, err := s.List()
			if err != nil {
				return err
			}
			if err := f.printImages(cmd.OutOrStdout(), images); err != nil || f.output == "json" {
				return err
			}
			u, err := s.Usage()
			if err == nil {
				fmt.Fprintf(cmd.OutOrStdout(), "%d image(s) hold %s in %d files\n", len(images), formatBytes(u.Bytes), u.Inodes)
			}
			return err
		},
	}
}

func (f *imageFlags) removeCommand() *cobra.Command {
	return &cobra.Command{
		Use: "rm NAME...", Aliases: []string{"remove"}, Short: "Remove images, by name or id", Args: cli.AtLeastOneArg("image rm", "image", "app:v2"),
		Long: `Removes names, and images with their last ones; an id or a name with a digest removes the image with all its names.
What a container uses of an image stays until that is removed.`,
		RunE: func(cmd *cobra.Command, names []string) error {
			s, err := f.openStore(cmd.ErrOrStderr(), false)
			if err != nil {
				return err
			}
			for _, name := range names {
				if image, err := s.Resolve(name); err == nil && image.Builtin {
					return fmt.Errorf("%s is built in: pods of the node need it, and nothing brings it again before its agent starts anew", name)
				}
				if err := s.Remove(name); err != nil {
					return err
				}
				if f.output != "json" {
					fmt.Fprintf(cmd.OutOrStdout(), "%s removed\n", name)
				}
			}
			return nil
		},
	}
}

// openStore opens the store, which is made if it is not there and may be.
func (f *imageFlags) openStore(notes io.Writer, mayMake bool) (*store.Store, error) {
	if err := validateOutput(f.output); err != nil {
		return nil, err
	}
	if os.Geteuid() != 0 {
		return nil, errors.New("images of a node are root's: run this as root")
	}
	dir := f.storeDir
	switch {
	case dir != "":
	case f.rootDir != "":
		dir = imagesDir(f.rootDir)
	default:
		dir = defaultImagesDir(notes, nodeagent.DefaultRoot, filepath.Join(cli.DefaultDataDir(), "agent"))
	}
	if !hasImages(dir) && !mayMake {
		return nil, fmt.Errorf("%s: there are no images: --root-dir is to name the directory of an agent whose runtime is the embedded one", dir)
	}
	return store.Open(dir, store.Options{})
}

// defaultImagesDir are those of berth agent or of berth up --real-node, by the directories that these have unless told otherwise.
// Where that may be the wrong guess, it is said: what is brought to the one is not seen by pods of the other.
func defaultImagesDir(notes io.Writer, agent, up string) string {
	here, there := hasImages(imagesDir(agent)), hasImages(imagesDir(up))
	if there && !here {
		return imagesDir(up)
	}
	if here == there {
		fmt.Fprintf(notes, "berth: the images of berth agent are taken, in %s; for those of berth up --real-node: --root-dir %s\n", imagesDir(agent), up)
	}
	return imagesDir(agent)
}

// imagesDir is where an agent has its images.
func imagesDir(root string) string { return filepath.Join(root, "images") }

func hasImages(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "oci-layout"))
	return err == nil
}
