package containerd

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/containerd/containerd/api/services/images/v1"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	criapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/berthproject/berth/agent/image/oci"
	"github.com/berthproject/berth/agent/runtime/pause"
)

// PauseImage is the name of the built-in sandbox image. Image garbage collection must keep it,
// because no registry has it.
const PauseImage = "berth.dev/pause:1"

// loadPause loads the pause image unless the runtime has it.
func (d *Daemon) loadPause(ctx context.Context) error {
	existing, err := d.service.ImageStatus(ctx, &criapi.ImageSpec{Image: PauseImage})
	if err != nil || existing != nil {
		return err
	}
	program, err := pause.Program()
	if err != nil {
		return err
	}
	image, err := oci.Build(oci.Spec{Layers: [][]oci.File{{{Path: "/pause", Mode: 0o755, Data: program}}}, Entrypoint: []string{"/pause"}})
	if err != nil {
		return fmt.Errorf("building the pause image: %w", err)
	}
	return d.Load(ctx, PauseImage, image)
}

// Load adds an image under a name such as berth.dev/pause:1 and replaces an image of that name. The
// runtime pulls the image from a temporary registry in this process, which unpacks it as usual.
// Load then renames it.
func (d *Daemon) Load(ctx context.Context, name string, image v1.Image) error {
	registry, err := oci.StartRegistry()
	if err != nil {
		return err
	}
	defer registry.Close()
	pulled, err := registry.Add("load", "now", image)
	if err != nil {
		return fmt.Errorf("image %s: %w", name, err)
	}
	if _, err := d.service.PullImage(ctx, &criapi.ImageSpec{Image: pulled}, nil, nil); err != nil {
		return fmt.Errorf("loading image %s: %w", name, err)
	}
	if err := d.renameImage(ctx, pulled, name); err != nil {
		return fmt.Errorf("renaming image %s: %w", name, err)
	}
	return d.waitForImage(ctx, name, registryHost(pulled)+"/")
}

// registryHost returns the host of the temporary registry in an image name.
func registryHost(pulled string) string { return strings.TrimSuffix(pulled, "/load:now") }

// renameImage adds a name to an image and removes the temporary names. CRI has no such call.
func (d *Daemon) renameImage(ctx context.Context, from, to string) error {
	conn, err := grpc.NewClient("unix://"+d.options.socket(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer conn.Close()
	ctx = metadata.AppendToOutgoingContext(ctx, "containerd-namespace", "k8s.io")
	client := images.NewImagesClient(conn)
	got, err := client.Get(ctx, &images.GetImageRequest{Name: from})
	if err != nil {
		return err
	}
	renamed := &images.Image{Name: to, Labels: got.Image.Labels, Target: got.Image.Target}
	_, err = client.Create(ctx, &images.CreateImageRequest{Image: renamed})
	if status.Code(err) == codes.AlreadyExists {
		_, err = client.Update(ctx, &images.UpdateImageRequest{Image: renamed})
	}
	if err != nil {
		return err
	}
	// The temporary names cannot be pulled again: remove them.
	list, err := client.List(ctx, &images.ListImagesRequest{})
	if err != nil {
		return err
	}
	registry := registryHost(from)
	for _, image := range list.Images {
		if strings.HasPrefix(image.Name, registry+"/") {
			if _, err := client.Delete(ctx, &images.DeleteImageRequest{Name: image.Name, Sync: true}); err != nil {
				return err
			}
		}
	}
	return nil
}

// waitForImage waits until CRI has the image under its name and under no name with oldPrefix.
// containerd updates CRI's names asynchronously.
func (d *Daemon) waitForImage(ctx context.Context, name, oldPrefix string) error {
	for {
		image, err := d.service.ImageStatus(ctx, &criapi.ImageSpec{Image: name})
		if err != nil && status.Code(err) != codes.NotFound {
			return err
		}
		if image != nil && !slices.ContainsFunc(append(slices.Clone(image.RepoTags), image.RepoDigests...), func(n string) bool { return strings.HasPrefix(n, oldPrefix) }) {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
}
